import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { EXIT_CONFIG } from '../../common/config/config-error.ts';
import type { Environment } from '../../common/config/environment.ts';
import type { Ending, Run } from './child-process.ts';
import { plainLogLine } from './log-lines.ts';

/**
 * Starts one of our own processes. It holds an IPC channel to us, by which it notices when we are gone. It is
 * in a process group of its own: Ctrl-C on the terminal reaches us alone, and we decide the order.
 * @param plain its log as lines for a person instead of JSON
 * @throws Error when the system gives it no process
 */
export async function startServer(program: string, env: Environment, plain: boolean): Promise<Run> {
  const child = fork(program, [], {
    env: { ...env },
    detached: true,
    execArgv: [],
    stdio: ['ignore', plain ? 'pipe' : 'inherit', 'inherit', 'ipc'],
  });
  if (child.pid === undefined) throw (await once(child, 'error'))[0];
  if (child.stdout)
    createInterface({ input: child.stdout }).on('line', (line) => console.log(plainLogLine(line)));
  const ended = new Promise<Ending>((resolve) => {
    child.on('error', (error) => resolve({ how: error.message, final: false }));
    child.once('exit', (code, signal) =>
      resolve({ how: signal ?? `exit code ${code}`, final: code === EXIT_CONFIG }),
    );
  });
  return {
    pid: child.pid,
    ended,
    finish: () => void child.kill('SIGTERM'),
    kill: () => void child.kill('SIGKILL'),
  };
}
