import { setTimeout as delay } from 'node:timers/promises';
import type { Speech } from './clips.ts';
import type { HttpClient } from './http-client.ts';
import { milliseconds, type Row } from './report.ts';
import { type BenchService, startService } from './service.ts';
import { spread } from './statistics.ts';

export const UPLOADS = '/v1/audio/transcriptions';
const CLIPS_MS = [1_000, 5_000, 15_000] as const;
/** Before each clip's own measurement; all code has been compiled by then, see `warmUp`. */
const WARM_UPS = 10;
/** What an upload leaves to be done behind its answer must not slow down what is measured next. */
const SETTLE_MS = 20;
const COMPILING_UPLOADS = 400;

/**
 * An upload from end to end without its inference, over the bare chain of the design's steps (chain-server.ts), without
 * a model and with the same one. They take turns, so that what else the machine does meets all alike.
 */
export async function measureHttp(
  { client, chain }: BenchService,
  speech: Speech,
  repetitions: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const clipMs of CLIPS_MS) {
    const form = speech.form(clipMs);
    const overhead = { run: () => shareOf(client, UPLOADS, form), values: [] };
    const bare = { run: () => shareOf(chain, '/chain', form), values: [] };
    const withModel = { run: () => shareOf(chain, '/chain?model', form), values: [] };
    await inTurns([overhead, bare, withModel], repetitions);
    const name = `HTTP, ${clipMs / 1000} s clip`;
    const value = milliseconds('end to end − inference_ms', overhead.values);
    rows.push(
      { name, value, base: milliseconds('bare BullMQ chain', bare.values) },
      { name, value, base: milliseconds('the chain with the same model, − its time', withModel.values) },
    );
  }
  return rows;
}

/**
 * What a user of the bundled model meets: what an upload of 5 s takes beyond the model, and how much of the time the
 * model works when one upload follows the other.
 */
export async function measureBundled(speech: Speech, repetitions: number): Promise<Row[]> {
  const service = await startService('bundled');
  try {
    const form = speech.form(5_000);
    const shares: number[] = [];
    let workedMs = 0;
    let beganAtMs = performance.now();
    for (let turn = -WARM_UPS; turn < repetitions; turn += 1) {
      if (turn === 0) [workedMs, beganAtMs] = [0, performance.now()];
      const { durationMs, inferenceMs } = await service.client.upload(UPLOADS, form);
      workedMs += inferenceMs;
      if (turn >= 0) shares.push((durationMs - inferenceMs) / durationMs);
    }
    const utilisation = workedMs / (performance.now() - beganAtMs);
    const name = 'bundled model, 5 s clips back to back';
    return [
      { name, value: { what: 'beyond inference_ms, share of an upload', unit: '', spread: spread(shares) } },
      { name, value: { what: 'Σ inference_ms / time', unit: '', spread: spread([utilisation]) } },
    ];
  } finally {
    await service.stop();
  }
}

/** What is measured, and what came out. */
interface Arm {
  readonly run: () => Promise<number>;
  readonly values: number[];
}

/** Each arm comes first in its share of the turns. */
async function inTurns(arms: readonly Arm[], repetitions: number): Promise<void> {
  for (let turn = -WARM_UPS; turn < repetitions; turn += 1) {
    const first = (turn + WARM_UPS) % arms.length;
    for (const { run, values } of [...arms.slice(first), ...arms.slice(0, first)]) {
      await delay(SETTLE_MS);
      const durationMs = await run();
      if (turn >= 0) values.push(durationMs);
    }
  }
}

/** Until the processes have compiled what they run often: uploads of a fresh one take half as long again. */
export async function warmUp({ client, chain }: BenchService, speech: Speech): Promise<void> {
  const form = speech.form(CLIPS_MS[0]);
  for (let count = 0; count < COMPILING_UPLOADS; count += 1) {
    await client.upload(UPLOADS, form);
    await chain.upload('/chain', form);
  }
}

/** @returns the time of an upload without that of its model, in milliseconds */
async function shareOf(server: HttpClient, path: string, form: Buffer): Promise<number> {
  const { durationMs, inferenceMs } = await server.upload(path, form);
  return durationMs - inferenceMs;
}
