import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Ends the private Redis of a supervisor that was killed. It is a shell that does nothing until the pipe from
 * the supervisor closes. The servers notice by themselves that they are alone. They have 5 s to finish with
 * Redis.
 */
interface OrphanWatch {
  /** Tells which process Redis is now: undefined when there is none. */
  update(pid: number | undefined): void;
  close(): Promise<void>;
}

/** The last line counts: the process id of Redis, or nothing. */
const SCRIPT = 'while read -r pid; do redis=$pid; done; [ -z "$redis" ] || { sleep 5; kill -KILL "$redis"; }';

export function startOrphanWatch(): OrphanWatch {
  const shell = spawn('sh', ['-c', SCRIPT, 'asr-orphan-watch'], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const ended = once(shell, 'exit');
  shell.stdin.on('error', () => {});
  return {
    update: (pid) => void shell.stdin.write(`${pid ?? ''}\n`),
    async close() {
      shell.stdin.end();
      await ended;
    },
  };
}
