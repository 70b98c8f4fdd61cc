import { setTimeout as delay } from 'node:timers/promises';
import { BYTES_PER_SECOND, CHUNK_MS, MAX_FRAME_BYTES } from '../../common/audio/limits.ts';
import { StreamClient } from '../support/stream-client.ts';
import type { Speech } from './clips.ts';
import type { Row } from './rows.ts';
import type { BenchService } from './service.ts';
import { spread } from './statistics.ts';

/** The lengths go through all of a model update, so that tails of every length are there. */
const SHORTEST_MS = 2_000;
const STEP_MS = 130;
const LOGGED_WITHIN_MS = 5_000;

interface MeasuredSession {
  /** From sending `end` to having `final`. */
  readonly finalMs: number;
  readonly sessionId: string;
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
  const tails = await tailModelTimes(service, sessions);
  const tailMs = ({ sessionId }: MeasuredSession): number => {
    const tail = tails.get(sessionId);
    if (tail === undefined)
      throw new Error(`the inference process has logged no tailModelMs for ${sessionId}`);
    return tail;
  };
  const measure = (what: string, of: (session: MeasuredSession) => number) =>
    ({ what, unit: 'ms', spread: spread(sessions.map(of)) }) as const;
  return [
    {
      name: 'stream, final',
      value: measure('from end to final', (session) => session.finalMs),
      base: measure("the tail's model time", tailMs),
      ratio: spread(sessions.map((session) => session.finalMs / tailMs(session))).median,
      goal: { relation: '≤', limit: 1.3 },
    },
    {
      name: 'stream, first partial',
      value: measure('from the first frame', (session) => session.firstPartialMs),
    },
    {
      name: 'stream, first partial',
      value: measure('from the frame that completed its 500 ms', (session) => session.firstPartialLagMs),
    },
  ];
}

async function streamRecording(service: BenchService, pcm: Buffer): Promise<MeasuredSession> {
  const client = await StreamClient.connect(service.streamUrl, { ...service.authorization });
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
    sessionId: String(ready['session_id']),
    firstPartialMs: firstPartialAtMs - (sentAtMs[0] ?? Number.NaN),
    firstPartialLagMs: firstPartialAtMs - (completing.at(-1) ?? Number.NaN),
  };
}

/** The model's time for what was left at `end` and the silence behind it, by session. From the log of inference, whose last line may come after the final. */
async function tailModelTimes(
  service: BenchService,
  sessions: readonly MeasuredSession[],
): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  const deadlineAtMs = performance.now() + LOGGED_WITHIN_MS;
  for (;;) {
    for (const text of await service.inferenceLog()) {
      // The line that is just being written has no end.
      if (!text.includes('"tailModelMs"') || !text.endsWith('}')) continue;
      const line: { sessionId?: unknown; tailModelMs?: unknown } = JSON.parse(text);
      times.set(String(line.sessionId), Number(line.tailModelMs));
    }
    if (sessions.every(({ sessionId }) => times.has(sessionId)) || performance.now() >= deadlineAtMs)
      return times;
    await delay(20);
  }
}
