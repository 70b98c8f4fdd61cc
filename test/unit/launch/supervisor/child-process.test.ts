import { expect, onTestFinished, test, vi } from 'vitest';
import { ConfigError } from '../../../../common/config/config-error.ts';
import { type Ending, type Run, SupervisedProcess } from '../../../../launch/supervisor/child-process.ts';
import { pausesSkipped } from '../../../support/pauses.ts';

/** A run that ends when the test says so. */
class ScriptedRun implements Run {
  readonly pid: number;
  readonly ended: Promise<Ending>;
  finishes = true;
  end: (ending: Ending) => void = () => {};
  constructor(pid: number) {
    this.pid = pid;
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }
  finish(): void {
    if (this.finishes) this.end({ how: 'SIGTERM', final: false });
  }
  kill(): void {
    this.end({ how: 'SIGKILL', final: false });
  }
}

const crash: Ending = { how: 'exit code 1', final: false };

function kept(start: () => Promise<Run>): {
  kept: SupervisedProcess;
  said: string[];
  pids: (number | undefined)[];
} {
  const said: string[] = [];
  const pids: (number | undefined)[] = [];
  const options = {
    name: 'inference',
    start,
    say: (line: string) => said.push(line),
    onChange: (pid: number | undefined) => pids.push(pid),
    finishMs: 50,
  };
  return { kept: new SupervisedProcess(options), said, pids };
}

test('starts again at once after the first failure, then later and later, also when a start fails', async () => {
  const runs = [2, 3, 4].map((pid) => new ScriptedRun(pid));
  const starts = [
    async () => runs[0],
    async () => {
      throw new Error('no such program');
    },
    async () => runs[1],
    async () => runs[2],
  ];
  const {
    kept: one,
    said,
    pids,
  } = kept(async () => (await starts.shift()?.()) ?? Promise.reject(new Error('too often')));
  const first = new ScriptedRun(1);
  const ended = one.keep(first);
  for (const run of [first, ...runs.slice(0, 2)]) {
    await expect.poll(() => pids.at(-1), { interval: 5, timeout: 5_000 }).toBe(run.pid);
    run.end(crash);
  }
  await expect.poll(() => pids.at(-1), { interval: 5, timeout: 5_000 }).toBe(4);
  expect(said).toEqual([
    'inference ended (exit code 1): starting it again',
    'inference ended (exit code 1): starting it again in 250 ms',
    'no such program',
    'inference ended (it did not start): starting it again in 500 ms',
    'inference ended (exit code 1): starting it again in 1000 ms',
  ]);
  expect(await one.stop()).toBe(true);
  await ended;
  expect(pids).toEqual([1, undefined, 2, undefined, 3, undefined, 4, undefined]);
});

test('a run of ten seconds ends a series of failures; what says that it cannot run is not started again', async () => {
  let skippedMs = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + skippedMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const runs = [2, 3].map((pid) => new ScriptedRun(pid));
  const { kept: one, said } = kept(async () => runs.shift() ?? Promise.reject(new Error('too often')));
  const [first, second, third] = [new ScriptedRun(1), ...runs];
  const ended = one.keep(first ?? new ScriptedRun(0));
  first?.end(crash);
  await expect.poll(() => runs.length, { interval: 5 }).toBe(1);
  await new Promise(setImmediate);
  skippedMs = 10_000;
  second?.end(crash);
  await expect.poll(() => runs.length, { interval: 5 }).toBe(0);
  expect(said).toEqual(Array(2).fill('inference ended (exit code 1): starting it again'));
  third?.end({ how: 'exit code 78', final: true });
  await expect(ended).rejects.toThrow(ConfigError);
  await expect(ended).rejects.toThrow('inference cannot run with these settings');
});

test('waits four seconds at most', async () => {
  const pauses = pausesSkipped();
  const { kept: one } = kept(async () => {
    if (pauses.length < 8) throw new Error('no such program');
    const run = new ScriptedRun(2);
    run.end({ how: 'exit code 78', final: true });
    return run;
  });
  const first = new ScriptedRun(1);
  first.end(crash);
  await expect(one.keep(first)).rejects.toThrow(ConfigError);
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000, 4_000, 4_000]);
});

test.each([
  [
    'stopped, it kills what does not finish in time',
    async (one: SupervisedProcess) => expect(await one.stop()).toBe(false),
  ],
  ['killed, it kills at once', async (one: SupervisedProcess) => one.kill()],
])('%s, and starts nothing again', async (_, end) => {
  const { kept: one, said } = kept(() => Promise.reject(new Error('too often')));
  const run = new ScriptedRun(1);
  run.finishes = false;
  const ended = one.keep(run);
  await end(one);
  await ended;
  expect(await run.ended).toEqual({ how: 'SIGKILL', final: false });
  expect(said).toEqual([]);
});

test('stopped while it starts again, it leaves nothing behind', async () => {
  let started: (run: Run) => void = () => {};
  const starting = new Promise<Run>((resolve) => {
    started = resolve;
  });
  const { kept: one, said } = kept(() => starting);
  const first = new ScriptedRun(1);
  const ended = one.keep(first);
  first.end(crash);
  await expect.poll(() => said.length, { interval: 5 }).toBe(1);
  const stopped = one.stop();
  const late = new ScriptedRun(2);
  started(late);
  expect(await stopped).toBe(true);
  await ended;
  expect(await late.ended).toEqual({ how: 'SIGKILL', final: false });
});

test('stopped while it waits, it starts nothing', async () => {
  let starts = 0;
  const { kept: one, said } = kept(async () => {
    starts += 1;
    const run = new ScriptedRun(starts + 1);
    run.end(crash);
    return run;
  });
  const first = new ScriptedRun(1);
  const ended = one.keep(first);
  first.end(crash);
  await expect.poll(() => said.length, { interval: 5 }).toBe(3);
  expect(said.at(-1)).toContain('in 500 ms');
  expect(await one.stop()).toBe(true);
  await ended;
  expect(starts).toBe(2);
  expect(said).toHaveLength(3);
});
