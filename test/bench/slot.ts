import { SLOT_RENEW_MS, Slot, slotHolder } from '../../common/slot/slot.ts';
import { AUTHORIZED } from '../support/service/api.ts';
import type { Speech } from './clips.ts';
import { UPLOADS } from './http.ts';
import { HttpClient } from './http-client.ts';
import type { Row } from './report.ts';
import type { BenchService } from './service.ts';
import { spread } from './statistics.ts';

const CLIP_MS = 5_000;
const UPLOADS_PER_ROUND = 20;
const BUSY_CLIENTS = 8;
const BUSY_ROUND_MS = 1_000;

/** How much of the time the model works when one client uploads 5 s clips one behind the other. */
export async function measureUtilisation(
  { client }: BenchService,
  speech: Speech,
  rounds: number,
): Promise<Row[]> {
  const form = speech.form(CLIP_MS);
  const shares: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const startedAtMs = performance.now();
    let workedMs = 0;
    for (let upload = 0; upload < UPLOADS_PER_ROUND; upload += 1)
      workedMs += (await client.upload(UPLOADS, form)).inferenceMs;
    if (round >= 0) shares.push(workedMs / (performance.now() - startedAtMs));
  }
  const value = { what: 'Σ inference_ms / time', unit: '', spread: spread(shares) } as const;
  return [{ name: 'slot utilisation, 5 s clips back to back', value, goal: ['≥', 0.9] }];
}

/** How many clients a second are told that the slot is taken; the whole upload is read and checked before that. */
export async function measureBusy(service: BenchService, speech: Speech, rounds: number): Promise<Row[]> {
  const form = speech.form(CLIP_MS);
  const clients = Array.from({ length: BUSY_CLIENTS }, () => new HttpClient(service.origin, AUTHORIZED));
  const perSecond: number[] = [];
  const free = await takeSlot(service);
  for (let round = -1; round < rounds; round += 1) {
    const startedAtMs = performance.now();
    let count = 0;
    const refusals = clients.map(async (client) => {
      for (; performance.now() < startedAtMs + BUSY_ROUND_MS; count += 1)
        await client.upload(UPLOADS, form, 409);
    });
    await Promise.all(refusals);
    if (round >= 0) perSecond.push((1000 * count) / (performance.now() - startedAtMs));
  }
  await Promise.all(clients.map((client) => client.close()));
  await free();
  const value = { what: '409 answers', unit: '1/s', spread: spread(perSecond) } as const;
  return [{ name: 'busy, 5 s clips from 8 clients', value }];
}

/** Holds the slot. @returns what frees it */
export async function takeSlot({ redis }: BenchService): Promise<() => Promise<void>> {
  const slot = new Slot(redis.store);
  const since = new Date().toISOString();
  const holder = slotHolder({ id: 'bench', via: 'http', replica: 'bench', since });
  if ((await slot.acquire(holder)) === undefined) throw new Error('the slot is taken before its measurement');
  const renewals = setInterval(() => void slot.renew(holder), SLOT_RENEW_MS);
  return async () => {
    clearInterval(renewals);
    await slot.release(holder);
  };
}
