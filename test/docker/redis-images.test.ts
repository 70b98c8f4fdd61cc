import { describe, expect, onTestFinished, test } from 'vitest';
import { fixture } from '../support/audio/fixtures.ts';
import { openStream, upload } from '../support/service/api.ts';
import { nothingLeft } from '../support/service/nothing-left.ts';
import { sendPaced, startRealService, untilReady } from '../support/service/real-service.ts';

/** docs/deployment.md has the matrix: ASR_REDIS_IMAGES="redis:6.2-alpine valkey/valkey:8-alpine" npm run test:docker */
const IMAGES = (process.env['ASR_REDIS_IMAGES'] ?? 'redis:7-alpine').split(/[\s,]+/).filter(Boolean);

describe.each(IMAGES)('%s', (image) => {
  test('an upload and a stream have their texts, also after it was killed, and leave nothing', async () => {
    const service = await startRealService({}, image);
    onTestFinished(() => service.stop());
    const { redis, origin, wsUrl } = service;
    const { wav, pcm, text } = fixture('e12');
    expect(await upload(origin, wav)).toMatchObject({ status: 200, body: { text } });
    await redis.restart();
    await untilReady(origin);
    const client = await openStream(wsUrl);
    await sendPaced(client, pcm, 3_200, 100);
    client.end();
    expect(await client.message('final')).toMatchObject({ text });
    await nothingLeft(redis, 6_000);
  });
});
