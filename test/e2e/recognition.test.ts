import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { upload } from '../support/api.ts';
import type { ProcessUnderTest } from '../support/inference-process.ts';
import {
  fixtures,
  openStream,
  sendPaced,
  startApiProcess,
  startInferenceProcess,
  untilReady,
} from '../support/real-service.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { wavFile } from '../support/wav.ts';

/** The service as it is deployed, with the bundled model: real processes, real audio. */
let redis: TestRedis;
let origin: string;
let wsUrl: string;
const processes: ProcessUnderTest[] = [];

beforeAll(async () => {
  redis = await startRedis();
  processes.push(startInferenceProcess({ REDIS_URL: redis.url }));
  const api = await startApiProcess({ REDIS_URL: redis.url });
  processes.push(api.process);
  ({ origin, wsUrl } = api);
  await untilReady(origin);
}, 40_000);
afterAll(async () => {
  for (const process of processes) await process.stop();
  await redis.stop();
});

describe('the text of every recording', () => {
  test.each(fixtures().map((fixture) => [fixture.name, fixture] as const))(
    '%s over HTTP',
    async (_name, { wav, pcm, text }) => {
      const answer = await upload(origin, wav);
      expect(answer).toMatchObject({ status: 200, body: { text, audio_ms: Math.round(pcm.length / 32) } });
      expect(answer.body['inference_ms']).toBeGreaterThan(0);
    },
  );

  // Twice as fast as real time: the backlog stays below two seconds, and the test short.
  test.each([
    ['h06', 3_200],
    ['h04', 3_200],
    ['e00', 1_000],
  ])(
    '%s over the stream in frames of %i bytes: the same text, partials on the way',
    async (name, frameBytes) => {
      const recording = fixtures().find((entry) => entry.name === name);
      if (!recording) throw new Error(name);
      const client = await openStream(wsUrl);
      await sendPaced(client, recording.pcm, frameBytes, frameBytes / 64);
      client.end();
      const final = await client.message('final');
      expect(final).toMatchObject({ text: recording.text, audio_ms: Math.round(recording.pcm.length / 32) });
      expect(await client.closed()).toBe(1000);
      const partials = client.received.filter((message) => message.type === 'partial');
      expect(partials.length).toBeGreaterThan(2);
      expect(new Set(partials.map((partial) => partial['text'])).size).toBe(partials.length);
    },
  );
});

test('15 s of silence and one sample are recognized, too', async () => {
  expect(await upload(origin, wavFile(Buffer.alloc(480_000)))).toMatchObject({
    status: 200,
    body: { audio_ms: 15_000 },
  });
  expect(await upload(origin, wavFile(Buffer.alloc(2)))).toMatchObject({
    status: 200,
    body: { audio_ms: 0 },
  });
});
