import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wavFile } from '../support/audio/wav.ts';
import { ATTACKS, AttackUnderWay, holding } from '../support/clients/attacks.ts';
import { openStream, upload } from '../support/service/api.ts';
import { type RealService, startRealService } from '../support/service/real-service.ts';
import { scriptedPcm } from '../support/service/scripted-recognizer.ts';

/** How long each attack lasts. */
const LASTS_MS = 750;
const LOOK_MS = 25;

let service: RealService;
let pid: number;

/** One of the attackers may have had the slot. */
async function expectServed(): Promise<void> {
  await expect.poll(async () => (await upload(service.origin, wavFile(scriptedPcm(1)))).status).toBe(200);
}

beforeAll(async () => {
  service = await startRealService();
  pid = Number(service.api.child.pid);
  await upload(service.origin, wavFile(scriptedPcm(1)));
});
afterAll(() => service.stop());

// A replica of 512 MB was ended by 430 sockets in 2 s; 1,000 handshakes left 17 descriptors behind.
test.each(ATTACKS)(
  '$connections × $name: memory stays bounded, and all descriptors come back',
  async (attack) => {
    const before = holding(pid).descriptors;
    const underWay = new AttackUnderWay(service.origin, attack);
    let most = 0;
    for (let passedMs = 0; passedMs < LASTS_MS; passedMs += LOOK_MS) {
      most = Math.max(most, holding(pid).megabytes);
      await sleep(LOOK_MS);
    }
    underWay.stop();
    expect(most).toBeLessThan(384);
    await expect.poll(() => holding(pid).descriptors, { timeout: 20_000 }).toBeLessThanOrEqual(before);
    await expectServed();
  },
  40_000,
);

test('one in the middle of a recording may hold an unfinished message, too', async () => {
  const before = holding(pid).descriptors;
  const client = await openStream(service.wsUrl);
  client.audio(scriptedPcm(0.1));
  client.unfinished(Buffer.alloc(1024 * 1024 - 1));
  await client.message('error');
  expect(holding(pid).megabytes).toBeLessThan(384);
  client.terminate();
  await expect.poll(() => holding(pid).descriptors).toBeLessThanOrEqual(before);
  await expectServed();
}, 40_000);

test('behind all of them the replica ends as it should', async () => {
  service.api.kill('SIGTERM');
  expect(await service.api.exited).toEqual({ code: 0, signal: null });
});
