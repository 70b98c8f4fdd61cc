import type { Speech } from './clips.ts';
import type { HttpClient, TimedAnswer } from './http-client.ts';
import type { Row } from './rows.ts';
import type { BenchService } from './service.ts';
import { spread } from './statistics.ts';

const CLIPS_MS = [1_000, 5_000, 15_000] as const;
const WARM_UPS = 10;
const GOAL = { relation: '≤', limit: 2 } as const;

/** An upload from end to end without its inference, over the floor: both in turns, and each first in every other turn. */
export async function measureHttp(
  { api, floor }: BenchService,
  speech: Speech,
  repetitions: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const clipMs of CLIPS_MS) {
    const form = speech.form(clipMs);
    const overheadMs: number[] = [];
    const floorMs: number[] = [];
    const samplesFloorMs: number[] = [];
    for (let turn = -WARM_UPS; turn < repetitions; turn += 1) {
      const measured = turn >= 0;
      const arms = [
        async () => {
          const duration = await floorDuration(floor, '/floor', form);
          if (measured) floorMs.push(duration);
        },
        async () => {
          const duration = await floorDuration(floor, '/floor-samples', form);
          if (measured) samplesFloorMs.push(duration);
        },
        async () => {
          const { durationMs, inferenceMs } = await transcribe(api, form);
          if (measured) overheadMs.push(durationMs - inferenceMs);
        },
      ];
      if (turn % 2 === 0) arms.reverse();
      for (const arm of arms) await arm();
    }
    const value = { what: 'end to end − inference_ms', unit: 'ms', spread: spread(overheadMs) } as const;
    const name = `HTTP, ${clipMs / 1000} s clip`;
    for (const [what, values] of [
      ['floor', floorMs],
      ['floor with the samples', samplesFloorMs],
    ] as const) {
      const base = { what, unit: 'ms', spread: spread(values) } as const;
      rows.push({ name, value, base, ratio: value.spread.median / base.spread.median, goal: GOAL });
    }
  }
  return rows;
}

async function floorDuration(floor: HttpClient, path: string, form: Buffer): Promise<number> {
  const answer = await floor.upload(path, form);
  if (answer.body['bytes'] !== form.length) throw unexpected(answer);
  return answer.durationMs;
}

/** @throws Error when the answer is not a result. */
export async function transcribe(
  api: HttpClient,
  form: Buffer,
): Promise<{ durationMs: number; inferenceMs: number }> {
  const answer = await api.upload('/v1/audio/transcriptions', form);
  const inferenceMs = answer.body['inference_ms'];
  if (answer.status !== 200 || typeof inferenceMs !== 'number') throw unexpected(answer);
  return { durationMs: answer.durationMs, inferenceMs };
}

function unexpected({ status, body }: TimedAnswer): Error {
  return new Error(`unexpected answer: ${status} ${JSON.stringify(body)}`);
}
