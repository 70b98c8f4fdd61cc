import { once } from 'node:events';
import { readdirSync, rmSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { takeLock } from '../../../../common/process/lock.mjs';
import { testFolder } from '../../../support/machine/folders.ts';

/** Higher than any process id of this machine. */
const DEAD = `${2 ** 22 + 1}@${hostname()}`;
const TAKERS = 4;
const ROUNDS = 100;

/** Takes the lock when the round begins, and says when that has been tried. */
const TAKER = `
  const { workerData } = require('node:worker_threads');
  import(workerData.lock).then(({ takeLock }) => {
    const [round, tried, taken] = [0, 1, 2];
    for (let number = 1; number <= ${ROUNDS}; number += 1) {
      while (Atomics.load(workerData.shared, round) < number);
      if (takeLock(workerData.path) !== undefined) Atomics.add(workerData.shared, taken, 1);
      Atomics.add(workerData.shared, tried, 1);
      Atomics.notify(workerData.shared, tried);
    }
  });
`;

test('a dead lock goes to one of several that take it over at once', async () => {
  const folder = testFolder();
  const path = join(folder, 'some.lock');
  const shared = new Int32Array(new SharedArrayBuffer(12));
  const lock = new URL('../../../../common/process/lock.mjs', import.meta.url).href;
  const workers = Array.from(
    { length: TAKERS },
    () => new Worker(TAKER, { eval: true, workerData: { lock, path, shared } }),
  );
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.terminate()))));
  await Promise.all(workers.map((worker) => once(worker, 'online')));
  for (let number = 1; number <= ROUNDS; number += 1) {
    symlinkSync(DEAD, path);
    Atomics.store(shared, 0, number);
    for (let tried = 0; tried < TAKERS * number; tried = Atomics.load(shared, 1))
      Atomics.wait(shared, 1, tried);
    expect(Atomics.exchange(shared, 2, 0)).toBe(1);
    rmSync(path);
  }
  expect(readdirSync(folder)).toEqual([]);
});

test('a dead take-over of a dead lock is taken over, too', () => {
  const folder = testFolder();
  const path = join(folder, 'some.lock');
  symlinkSync(DEAD, path);
  symlinkSync(DEAD, `${path}.takeover`);
  takeLock(path)?.();
  expect(readdirSync(folder)).toEqual([]);
});
