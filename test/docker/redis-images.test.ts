import { describe, expect, onTestFinished, test } from 'vitest';
import { upload } from '../support/api.ts';
import { nothingLeft } from '../support/nothing-left.ts';
import {
  fixture,
  openStream,
  sendPaced,
  startApiProcess,
  startInferenceProcess,
  untilReady,
} from '../support/real-service.ts';
import { startRedis } from '../support/redis.ts';

/** docs/deployment.md has the matrix: ASR_REDIS_IMAGES="redis:6.2-alpine valkey/valkey:8-alpine" npm run test:docker */
const IMAGES = (process.env['ASR_REDIS_IMAGES'] ?? 'redis:7-alpine').split(/[\s,]+/).filter(Boolean);

describe.each(IMAGES)('%s', (image) => {
  test('an upload and a stream have their texts, also after it was killed, and leave nothing', async () => {
    const redis = await startRedis([], [], image);
    onTestFinished(() => redis.stop());
    const inference = startInferenceProcess({ REDIS_URL: redis.url });
    onTestFinished(() => inference.stop());
    const api = await startApiProcess({ REDIS_URL: redis.url });
    onTestFinished(() => api.process.stop());
    const { wav, pcm, text } = fixture('e12');
    await untilReady(api.origin);
    expect(await upload(api.origin, wav)).toMatchObject({ status: 200, body: { text } });
    await redis.restart();
    await untilReady(api.origin);
    const client = await openStream(api.wsUrl);
    await sendPaced(client, pcm, 3_200, 100);
    client.end();
    expect(await client.message('final')).toMatchObject({ text });
    await nothingLeft(redis, 6_000);
  });
});
