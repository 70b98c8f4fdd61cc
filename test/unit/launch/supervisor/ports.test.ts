import { expect, it } from 'vitest';
import { checkPort, freePort } from '../../../../launch/supervisor/ports.ts';
import { takenPort } from '../../../support/ports.ts';

it.each([
  ['freePort', () => freePort()],
  ['checkPort for 0', () => checkPort('127.0.0.1', 0)],
])('%s gives no port that the system hands out by itself', async (_, choose) => {
  for (let round = 0; round < 20; round += 1) {
    const port = await choose();
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(32_768);
  }
});

it('passes over what is taken', async () => {
  const taken = await takenPort();
  const free = await freePort();
  expect(await freePort('127.0.0.1', [taken, taken, free])).toBe(free);
});

it('takes what the system chooses where all are taken', async () => {
  const taken = await takenPort();
  const port = await freePort('127.0.0.1', [taken]);
  expect(port).not.toBe(taken);
  expect(port).toBeGreaterThan(0);
});

it('says at once that a host is none', async () => {
  await expect(freePort('203.0.113.1')).rejects.toThrow('EADDRNOTAVAIL');
  await expect(checkPort('203.0.113.1', 0)).rejects.toThrow('ASR_HOST="203.0.113.1"');
});
