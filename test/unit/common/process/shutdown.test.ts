import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { SAME_SIGNAL_MS } from '../../../../common/process/shutdown.ts';

const moduleOf = (name: string): string =>
  JSON.stringify(pathToFileURL(join(packageRoot(), 'dist/common/process', name)).href);

interface Ending {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown[]>;
  /** Waits for a log line with this `msg`. */
  logged(msg: string): Promise<Record<string, unknown>>;
  readonly lines: Record<string, unknown>[];
}

/** A process that has nothing to do but to end by these steps, once it says so. */
async function start(drainMs: number, ...steps: string[]): Promise<Ending> {
  const script = `
    import { createLogger } from ${moduleOf('log.js')};
    import { shutdownOnSignal } from ${moduleOf('shutdown.js')};
    const log = createLogger('info', 'api');
    const steps = [${steps.map((run, i) => `{ name: 'step ${i + 1}', run: async () => { ${run} } }`).join()}];
    shutdownOnSignal(['SIGTERM', 'SIGINT'], log, ${drainMs}, () => steps);
    setInterval(() => {}, 60_000);
    log.info('serving');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: Record<string, unknown>[] = [];
  const output = createInterface({ input: child.stdout ?? process.stdin });
  output.on('line', (line) => lines.push(JSON.parse(line)));
  // Not its 'close', which does not come behind a disconnect of ours.
  const ended = Promise.all([once(child, 'exit'), once(output, 'close')]).then(([ending]) => ending);
  const logged = async (msg: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const found = lines.find((line) => line['msg'] === msg);
      if (found !== undefined) return found;
      await Promise.race([once(output, 'line'), ended.then(() => Promise.reject(new Error(msg)))]);
    }
  };
  await logged('serving');
  return { child, ended, logged, lines };
}

const NEVER = 'await new Promise(() => {})';

test('every step runs, also behind one that failed, which is logged and is exit code 1', async () => {
  const { child, ended, lines } = await start(10_000, "throw new RangeError('one')", "log.info('two')");
  child.kill('SIGTERM');
  expect(await ended).toEqual([1, null]);
  expect(lines.slice(1)).toMatchObject([
    { msg: 'shutting down', reason: 'SIGTERM' },
    { msg: 'a shutdown step failed', level: 50, step: 'step 1', error: 'RangeError' },
    { msg: 'two' },
    { msg: 'stopped', failures: 1 },
  ]);
});

test('steps that take too long are not waited for: exit code 1', async () => {
  const { child, ended, lines } = await start(50, NEVER);
  child.kill('SIGTERM');
  expect(await ended).toEqual([1, null]);
  expect(lines.at(-1)).toMatchObject({ msg: 'not drained in time: exiting', level: 50 });
});

test('two signals at once, as npm and a terminal send them, are one', async () => {
  const { child, ended, lines } = await start(10_000, 'await new Promise((done) => setTimeout(done, 100))');
  child.kill('SIGINT');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(lines.map(({ msg }) => msg)).toEqual(['serving', 'shutting down', 'stopped']);
});

test('a second signal ends it at once: exit code 1', async () => {
  const { child, ended, logged, lines } = await start(30_000, NEVER);
  child.kill('SIGTERM');
  await logged('shutting down');
  await new Promise((resolve) => setTimeout(resolve, SAME_SIGNAL_MS + 50));
  child.kill('SIGTERM');
  expect(await ended).toEqual([1, null]);
  expect(lines.at(-1)).toMatchObject({ msg: 'second signal: exiting at once' });
});

test('one whose supervisor is gone finishes, too', async () => {
  const { child, ended, lines } = await start(10_000, "log.info('one')");
  child.disconnect();
  expect(await ended).toEqual([0, null]);
  expect(lines.slice(1)).toMatchObject([{ reason: 'supervisor gone' }, { msg: 'one' }, { failures: 0 }]);
});
