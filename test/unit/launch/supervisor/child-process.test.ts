import { expect, onTestFinished, test, vi } from 'vitest';
import { ConfigError } from '../../../../common/config/config-error.ts';
import { type Ending, type Run, SupervisedProcess } from '../../../../launch/supervisor/child-process.ts';
import { pausesSkipped } from '../../../support/machine/pauses.ts';

const crash: Ending = { how: 'exit code 1', final: false };

/** A run that ends when the test says so. */
function aRun(pid: number, finishes = true): Run & { readonly end: (ending: Ending) => void } {
  let end: (ending: Ending) => void = () => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const finish = (): void => {
    if (finishes) end({ how: 'SIGTERM', final: false });
  };
  return {
    pid,
    ended,
    end: (ending) => end(ending),
    finish,
    kill: () => end({ how: 'SIGKILL', final: false }),
  };
}

function supervised(start: () => Promise<Run>) {
  const said: string[] = [];
  const pids: (number | undefined)[] = [];
  const one = new SupervisedProcess({
    name: 'inference',
    start,
    say: (line) => said.push(line),
    onChange: (pid) => pids.push(pid),
    finishMs: 50,
  });
  return { one, said, pids };
}

const never = (): Promise<Run> => Promise.reject(new Error('too often'));

test('starts again what ends, 2 s after its last start, also if a start fails', async () => {
  const pauses = pausesSkipped();
  const [first, second, third] = [aRun(1), aRun(2), aRun(3)];
  const starts = [async () => second, () => Promise.reject(new Error('no such program')), async () => third];
  const { one, said, pids } = supervised(() => (starts.shift() ?? never)());
  const ended = one.keep(first);
  first.end(crash);
  second.end({ how: 'SIGKILL', final: false });
  await expect.poll(() => pids.at(-1)).toBe(3);
  expect(said).toEqual([
    'inference ended (exit code 1): starting it again',
    'inference ended (SIGKILL): starting it again',
    'no such program',
  ]);
  expect(await one.stop()).toBe(true);
  await ended;
  expect(pids).toEqual([1, undefined, 2, undefined, 3, undefined]);
  expect(pauses).toHaveLength(3);
  for (const pause of pauses) expect(pause).toBeLessThanOrEqual(2_000);
  for (const pause of pauses) expect(pause).toBeGreaterThan(1_000);
});

test('what ran for longer is back at once', async () => {
  const pauses = pausesSkipped();
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now');
  onTestFinished(() => void clock.mockRestore());
  const [first, second] = [aRun(1), aRun(2)];
  const { one, pids } = supervised(async () => second);
  const ended = one.keep(first);
  clock.mockImplementation(() => now() + 2_000);
  first.end(crash);
  await expect.poll(() => pids.at(-1)).toBe(2);
  expect(pauses).toEqual([0]);
  await one.stop();
  await ended;
});

test('what says that it cannot run is not started again', async () => {
  const first = aRun(1);
  const { one, said } = supervised(never);
  const ended = one.keep(first);
  first.end({ how: 'exit code 78', final: true });
  await expect(ended).rejects.toThrow(ConfigError);
  await expect(ended).rejects.toThrow('inference cannot run with these settings');
  expect(await one.stop()).toBe(true);
  expect(said).toEqual([]);
});

test.each([
  [
    'stopped, it kills what does not finish in time',
    async (one: SupervisedProcess) => expect(await one.stop()).toBe(false),
  ],
  ['killed, it kills at once', async (one: SupervisedProcess) => one.kill()],
])('%s, and starts nothing again', async (_, end) => {
  const { one, said } = supervised(never);
  const run = aRun(1, false);
  const ended = one.keep(run);
  await end(one);
  await ended;
  expect(await run.ended).toEqual({ how: 'SIGKILL', final: false });
  expect(said).toEqual([]);
});

test('stopped while it starts again, it leaves nothing behind', async () => {
  pausesSkipped();
  const [first, late] = [aRun(1), aRun(2)];
  let isStarted = (): void => {};
  const start = vi.fn(
    () =>
      new Promise<Run>((resolve) => {
        isStarted = () => resolve(late);
      }),
  );
  const { one } = supervised(start);
  const ended = one.keep(first);
  first.end(crash);
  await expect.poll(() => start.mock.calls).toHaveLength(1);
  const stopped = one.stop();
  isStarted();
  expect(await stopped).toBe(true);
  await ended;
  expect(await late.ended).toEqual({ how: 'SIGKILL', final: false });
});

test('stopped while it waits, it starts nothing', async () => {
  const first = aRun(1);
  const { one, said } = supervised(never);
  const ended = one.keep(first);
  first.end(crash);
  await expect.poll(() => said).toHaveLength(1);
  expect(await one.stop()).toBe(true);
  await ended;
  expect(said).toEqual(['inference ended (exit code 1): starting it again']);
});
