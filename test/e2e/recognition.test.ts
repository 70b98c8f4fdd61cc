import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { countErrors } from '../eval/error-rate.ts';
import { readSet } from '../eval/sets.ts';
import { openStream, upload } from '../support/api.ts';
import {
  type Fixture,
  fixtures,
  type RealService,
  sendPaced,
  startRealService,
} from '../support/real-service.ts';
import { wavFile } from '../support/wav.ts';

/** Sends a recording as a stream, and gives its messages. @param periodMs between two frames */
async function stream({ wsUrl }: RealService, pcm: Buffer, frameBytes: number, periodMs: number) {
  const client = await openStream(wsUrl);
  await sendPaced(client, pcm, frameBytes, periodMs);
  client.end();
  const final = await client.message('final');
  expect(final['audio_ms']).toBe(Math.round(pcm.length / 32));
  expect(await client.closed()).toBe(1000);
  return { text: final['text'], partials: client.received.filter(({ type }) => type === 'partial') };
}

describe('the bundled model, of real people', { timeout: 180_000 }, () => {
  let service: RealService;
  let recordings: Awaited<ReturnType<typeof readSet>>;
  beforeAll(async () => {
    service = await startRealService({ ASR_MODEL: 'bundled' });
    recordings = await readSet(join(packageRoot(), 'test', 'fixtures', 'real-speech'));
  }, 40_000);
  afterAll(() => service.stop());

  // Measured: 16 % of the characters. The small CTC model, which was the bundled one before, gets 75 % wrong.
  test('less than a quarter of the characters is wrong, and some sentences are right', async () => {
    const all = { wrong: 0, total: 0, right: 0 };
    for (const { pcm, truth } of recordings) {
      const { status, body } = await upload(service.origin, wavFile(pcm));
      expect(status).toBe(200);
      const { wrong, total } = countErrors(truth, String(body['text']));
      all.wrong += wrong;
      all.total += total;
      all.right += wrong === 0 ? 1 : 0;
    }
    expect(all.total).toBe(175);
    expect(all.wrong / all.total).toBeLessThan(0.25);
    expect(all.right).toBeGreaterThanOrEqual(3);
  });

  // The same text with and without VNNI instructions. At a third of real time, because other tests take the processor, too.
  test('a stream has the text of an upload, and partials on the way', async () => {
    const text = '他笑说自己完全没准备好。';
    const pcm = recordings.find(({ name }) => name === 'BAC009S0150W0409.wav')?.pcm ?? Buffer.alloc(0);
    expect((await upload(service.origin, wavFile(pcm))).body['text']).toBe(text);
    const heard = await stream(service, pcm, 3_200, 300);
    expect(heard.text).toBe(text);
    expect(heard.partials.length).toBeGreaterThan(1);
  });
});

describe('the small CTC model: the text of every recording', () => {
  let service: RealService;
  beforeAll(async () => {
    service = await startRealService();
  }, 40_000);
  afterAll(() => service.stop());

  test.each(fixtures().map((fixture) => [fixture.name, fixture] as const))(
    '%s over HTTP',
    async (_name, { wav, pcm, text }: Fixture) => {
      const answer = await upload(service.origin, wav);
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
      const { text, partials } = await stream(service, recording.pcm, frameBytes, frameBytes / 64);
      expect(text).toBe(recording.text);
      expect(partials.length).toBeGreaterThan(2);
      expect(new Set(partials.map((partial) => partial['text'])).size).toBe(partials.length);
    },
  );

  test('15 s of silence and one sample are recognized, too', async () => {
    expect(await upload(service.origin, wavFile(Buffer.alloc(480_000)))).toMatchObject({
      status: 200,
      body: { audio_ms: 15_000 },
    });
    expect(await upload(service.origin, wavFile(Buffer.alloc(2)))).toMatchObject({
      status: 200,
      body: { audio_ms: 0 },
    });
  });
});
