import { RedisKeys } from '../../common/redis/keys.ts';
import { SLOT_RENEW_MS, Slot, slotHolder } from '../../common/slot/slot.ts';
import type { Speech } from './clips.ts';
import { transcribe } from './http.ts';
import { HttpClient } from './http-client.ts';
import type { Row } from './rows.ts';
import type { BenchService } from './service.ts';
import { spread } from './statistics.ts';

const CLIP_MS = 5_000;
const UPLOADS_PER_ROUND = 20;
const BUSY_CLIENTS = 8;
const BUSY_ROUND_MS = 1_000;

/** How much of the time the model works when one client uploads 5 s clips one behind the other. */
export async function measureUtilisation(
  { api }: BenchService,
  speech: Speech,
  rounds: number,
): Promise<Row[]> {
  const form = speech.form(CLIP_MS);
  const shares: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const startedAtMs = performance.now();
    let inferenceMs = 0;
    for (let upload = 0; upload < UPLOADS_PER_ROUND; upload += 1)
      inferenceMs += (await transcribe(api, form)).inferenceMs;
    if (round >= 0) shares.push(inferenceMs / (performance.now() - startedAtMs));
  }
  const value = { what: 'Σ inference_ms / time', unit: '', spread: spread(shares) } as const;
  const name = `slot utilisation, ${CLIP_MS / 1000} s clips back to back`;
  return [{ name, value, goal: { relation: '≥', limit: 0.9 } }];
}

/** How many clients a second are told that the slot is taken; the whole upload is read and checked before that. */
export async function measureBusy(service: BenchService, speech: Speech, rounds: number): Promise<Row[]> {
  const { authorization, apiOrigin } = service;
  const form = speech.form(CLIP_MS);
  const clients = Array.from({ length: BUSY_CLIENTS }, () => new HttpClient(apiOrigin, authorization));
  const perSecond: number[] = [];
  const free = await takeSlot(service);
  try {
    for (let round = -1; round < rounds; round += 1) {
      const startedAtMs = performance.now();
      const answers = await Promise.all(
        clients.map((client) => refusedUntil(startedAtMs + BUSY_ROUND_MS, client, form)),
      );
      const count = answers.reduce((sum, each) => sum + each, 0);
      if (round >= 0) perSecond.push((1000 * count) / (performance.now() - startedAtMs));
    }
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await free();
  }
  const value = { what: '409 answers', unit: '1/s', spread: spread(perSecond) } as const;
  return [{ name: `busy, ${CLIP_MS / 1000} s clips from ${BUSY_CLIENTS} clients`, value }];
}

/** Holds the slot. @returns what frees it */
export async function takeSlot({ redis }: BenchService): Promise<() => Promise<void>> {
  const slot = new Slot(redis.client, new RedisKeys('{asr}'));
  const since = new Date().toISOString();
  const holder = slotHolder({ id: 'bench', via: 'http', replica: 'bench', since });
  if ((await slot.acquire(holder)) === undefined) throw new Error('the slot is taken before its measurement');
  const renewals = setInterval(() => void slot.renew(holder), SLOT_RENEW_MS);
  return async () => {
    clearInterval(renewals);
    await slot.release(holder);
  };
}

/** @returns how long the refusal took, in milliseconds. @throws Error when it is none */
export async function refusal(client: HttpClient, form: Buffer): Promise<number> {
  const { status, body, durationMs } = await client.upload('/v1/audio/transcriptions', form);
  if (status !== 409) throw new Error(`expected 409, got ${status} ${JSON.stringify(body)}`);
  return durationMs;
}

async function refusedUntil(endMs: number, client: HttpClient, form: Buffer): Promise<number> {
  let count = 0;
  for (; performance.now() < endMs; count += 1) await refusal(client, form);
  return count;
}
