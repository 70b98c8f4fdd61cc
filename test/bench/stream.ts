import { setTimeout as delay } from 'node:timers/promises';
import { BYTES_PER_SECOND, CHUNK_MS, MAX_FRAME_BYTES } from '../../common/audio/limits.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { AUTHORIZED } from '../support/service/api.ts';
import type { Speech } from './clips.ts';
import { milliseconds, type Row } from './report.ts';
import type { BenchService } from './service.ts';
import { spread } from './statistics.ts';

/** The lengths go through all of a model update, so that tails of every length are there. */
const SHORTEST_MS = 2_000;
const STEP_MS = 130;
const LOGGED_WITHIN_MS = 5_000;

interface MeasuredSession {
  /** From sending `end` to having `final`. */
  readonly finalMs: number;
  /** The model's time for what was left at `end` and the silence behind it. */
  readonly tailMs: number;
  /** From sending the first frame to having the first partial. */
  readonly firstPartialMs: number;
  /** The first partial's time, counted from the frame that completed the model update. */
  readonly firstPartialLagMs: number;
}

/** Recordings streamed in real time, one behind the other. */
export async function measureStream(
  service: BenchService,
  speech: Speech,
  repetitions: number,
): Promise<Row[]> {
  const sessions: MeasuredSession[] = [];
  for (let turn = -1; turn < repetitions; turn += 1) {
    const durationMs = SHORTEST_MS + ((Math.max(0, turn) * STEP_MS) % CHUNK_MS);
    const session = await streamRecording(service, speech.pcm(durationMs));
    if (turn >= 0) sessions.push(session);
  }
  const measure = (what: string, of: (session: MeasuredSession) => number) =>
    milliseconds(what, sessions.map(of));
  const name = 'stream, first partial';
  return [
    {
      name: 'stream, final',
      value: measure('from end to final', ({ finalMs }) => finalMs),
      base: measure("the tail's model time", ({ tailMs }) => tailMs),
      ratio: spread(sessions.map(({ finalMs, tailMs }) => finalMs / tailMs)).median,
      goal: ['≤', 1.3],
    },
    { name, value: measure('from the first frame', ({ firstPartialMs }) => firstPartialMs) },
    {
      name,
      value: measure(
        'from the frame that completed its 500 ms',
        ({ firstPartialLagMs }) => firstPartialLagMs,
      ),
    },
  ];
}

async function streamRecording(service: BenchService, pcm: Buffer): Promise<MeasuredSession> {
  const client = await StreamClient.connect(`${service.origin.replace('http', 'ws')}/ws/asr`, AUTHORIZED);
  client.start();
  const ready = await client.message('ready');
  const partialAtMs = client.message('partial').then(() => performance.now());
  const sentAtMs: number[] = [];
  const startedAtMs = performance.now();
  for (let position = 0; position < pcm.length; position += MAX_FRAME_BYTES) {
    const frame = pcm.subarray(position, position + MAX_FRAME_BYTES);
    // A frame can be sent when its last sample has been spoken.
    const dueAtMs = startedAtMs + (1000 * (position + frame.length)) / BYTES_PER_SECOND;
    await delay(dueAtMs - performance.now());
    client.audio(frame);
    sentAtMs.push(performance.now());
  }
  client.end();
  const endAtMs = performance.now();
  await client.message('final');
  const finalMs = performance.now() - endAtMs;
  await client.closed();
  const firstPartialAtMs = await partialAtMs;
  const framesPerUpdate = (CHUNK_MS * BYTES_PER_SECOND) / 1000 / MAX_FRAME_BYTES;
  const completing = sentAtMs.filter(
    (atMs, index) => (index + 1) % framesPerUpdate === 0 && atMs < firstPartialAtMs,
  );
  return {
    finalMs,
    tailMs: await tailModelMs(service, ready['session_id']),
    firstPartialMs: firstPartialAtMs - (sentAtMs[0] ?? Number.NaN),
    firstPartialLagMs: firstPartialAtMs - (completing.at(-1) ?? Number.NaN),
  };
}

/** From the log of inference, whose line may come after the final. */
async function tailModelMs({ inferenceLog }: BenchService, sessionId: unknown): Promise<number> {
  const deadlineAtMs = performance.now() + LOGGED_WITHIN_MS;
  const line = new RegExp(`"sessionId":"${sessionId}".*"tailModelMs":([\\d.]+),`);
  while (performance.now() < deadlineAtMs) {
    const [, tailMs] = line.exec(inferenceLog()) ?? [];
    if (tailMs !== undefined) return Number(tailMs);
    await delay(20);
  }
  throw new Error(`the inference process has logged no tailModelMs for ${sessionId}`);
}
