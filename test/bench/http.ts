import { setTimeout as delay } from 'node:timers/promises';
import type { Speech } from './clips.ts';
import type { HttpClient, TimedAnswer } from './http-client.ts';
import type { Measure, Row } from './rows.ts';
import type { BenchService } from './service.ts';
import { type Spread, spread } from './statistics.ts';

const CLIPS_MS = [1_000, 5_000, 15_000] as const;
/** Before each clip's own measurement; all code has been compiled by then, see `warmUp`. */
const WARM_UPS = 10;
/** What an upload leaves to be done behind its answer must not slow down what is measured next. */
const SETTLE_MS = 20;
const COMPILING_UPLOADS = 400;
const GOAL = { relation: '≤', limit: 1.25 } as const;

/**
 * An upload from end to end without its inference, over the bare chain of the design's steps (chain-server.ts), without a model and with the same one. They
 * take turns, so that what else the machine does meets all alike.
 */
export async function measureHttp(
  { api, chain }: BenchService,
  speech: Speech,
  repetitions: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const clipMs of CLIPS_MS) {
    const form = speech.form(clipMs);
    const fileBytes = speech.wav(clipMs).length;
    const arms = {
      overhead: async () => {
        const { durationMs, inferenceMs } = await transcribe(api, form);
        return durationMs - inferenceMs;
      },
      bare: () => durationOf(chain, '/chain', form, fileBytes),
      withModel: () => durationOf(chain, '/chain?model', form, fileBytes),
    };
    const { overhead, bare, withModel } = await inTurns(arms, repetitions);
    const name = `HTTP, ${clipMs / 1000} s clip`;
    const value = milliseconds('end to end − inference_ms', overhead);
    rows.push(
      {
        name,
        value,
        base: milliseconds('bare BullMQ chain', bare),
        ratio: overhead.median / bare.median,
        goal: GOAL,
      },
      {
        name,
        value,
        base: milliseconds('the chain with the same model, − its time', withModel),
        ratio: overhead.median / withModel.median,
      },
    );
  }
  return rows;
}

function milliseconds(what: string, values: Spread): Measure {
  return { what, unit: 'ms', spread: values };
}

/** Each arm comes first in its share of the turns. */
async function inTurns<Name extends string>(
  arms: Readonly<Record<Name, () => Promise<number>>>,
  repetitions: number,
): Promise<Record<Name, Spread>> {
  const names = Object.keys(arms) as Name[];
  const values = new Map(names.map((name): [Name, number[]] => [name, []]));
  for (let turn = -WARM_UPS; turn < repetitions; turn += 1) {
    for (let step = 0; step < names.length; step += 1) {
      const name = names[(turn + WARM_UPS + step) % names.length];
      if (name === undefined) continue;
      await delay(SETTLE_MS);
      const durationMs = await arms[name]();
      if (turn >= 0) values.get(name)?.push(durationMs);
    }
  }
  return Object.fromEntries(names.map((name) => [name, spread(values.get(name) ?? [])])) as Record<
    Name,
    Spread
  >;
}

async function durationOf(
  server: HttpClient,
  path: string,
  form: Buffer,
  fileBytes: number,
): Promise<number> {
  const answer = await server.upload(path, form);
  const inferenceMs = answer.body['inference_ms'];
  if (answer.body['bytes'] !== fileBytes || typeof inferenceMs !== 'number') throw unexpected(answer);
  return answer.durationMs - inferenceMs;
}

/** Until the processes have compiled what they run often: uploads of a fresh one take half as long again. */
export async function warmUp({ api, chain }: BenchService, speech: Speech): Promise<void> {
  const form = speech.form(CLIPS_MS[0]);
  const fileBytes = speech.wav(CLIPS_MS[0]).length;
  for (let count = 0; count < COMPILING_UPLOADS; count += 1) {
    await transcribe(api, form);
    await durationOf(chain, '/chain', form, fileBytes);
  }
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
