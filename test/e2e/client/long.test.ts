import { afterAll, beforeAll, expect, test } from 'vitest';
import { joined } from '../../../client/audio/frames.ts';
import { AsrClient } from '../../../client/node.ts';
import { Deferred } from '../../../common/time/deferred.ts';
import { fixtures } from '../../support/audio/fixtures.ts';
import { noise } from '../../support/audio/spoken.ts';
import { TOKEN } from '../../support/service/api.ts';
import {
  type RealService,
  startInferenceProcess,
  startRealService,
} from '../../support/service/real-service.ts';

/** Real sentences with pauses of half a second between them. */
const SENTENCES = fixtures();
const joinedAudio = (count: number) =>
  joined(SENTENCES.slice(0, count).flatMap(({ samples }) => [samples, noise(0.5, 4)]));
const said = (count: number) =>
  SENTENCES.slice(0, count)
    .map(({ text }) => text)
    .join('');

let service: RealService;
let client: AsrClient;
beforeAll(async () => {
  service = await startRealService();
  client = new AsrClient({ url: service.origin, apiToken: TOKEN });
}, 30_000);
afterAll(() => service.stop());

test('ten sentences in 46 s: every one of them is in the text', async () => {
  const { text, audio_ms, pieces } = await client.transcribeLong(joinedAudio(10)).result;
  expect(text).toBe(said(10));
  expect(pieces.length).toBeGreaterThan(3);
  expect(audio_ms).toBe(Math.round(joinedAudio(10).length / 16));
});

test('live, with a kill -9 of inference while somebody speaks: nothing is lost', {
  timeout: 60_000,
}, async () => {
  const audio = joinedAudio(4);
  const heard = new Deferred<void>();
  const failures: string[] = [];
  const live = client.transcribeLive({
    onPartial: () => heard.resolve(),
    onStreamFailure: ({ code }) => failures.push(code),
  });
  live.push(audio.subarray(0, 24_000));
  await heard.promise;
  service.inference.child.kill('SIGKILL');
  const again = startInferenceProcess({ REDIS_URL: service.redis.url });
  try {
    live.push(audio.subarray(24_000));
    const { text, audio_ms } = await live.end();
    expect(text).toBe(said(4));
    expect(audio_ms).toBe(Math.round(audio.length / 16));
  } finally {
    await again.stop();
  }
  console.log(`the session met: ${failures.join(', ') || 'nothing'}`);
});
