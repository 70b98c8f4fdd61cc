import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { expect, it, onTestFinished, vi } from 'vitest';
import { checkPort, freePort } from '../../../../launch/supervisor/ports.ts';
import { takenPort } from '../../../support/machine/ports.ts';

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

it('passes over what is taken, and takes what the system chooses where all is', async () => {
  const [taken, free] = [await takenPort(), await freePort()];
  const ports = [taken, free];
  const chosen = vi.spyOn(crypto, 'randomInt').mockImplementation(() => ports.shift() ?? taken);
  syncBuiltinESMExports();
  onTestFinished(() => {
    chosen.mockRestore();
    syncBuiltinESMExports();
  });
  expect(await freePort()).toBe(free);
  expect([taken, free]).not.toContain(await freePort());
});

it('says at once that a host is none', async () => {
  await expect(freePort('203.0.113.1')).rejects.toThrow('EADDRNOTAVAIL');
  await expect(checkPort('203.0.113.1', 0)).rejects.toThrow('ASR_HOST="203.0.113.1"');
});
