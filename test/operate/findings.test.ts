import { expect, onTestFinished, test } from 'vitest';
import { writeHangingModel } from '../onnx/hanging.ts';
import { wavFile } from '../support/audio/wav.ts';
import { testFolder } from '../support/machine/folders.ts';
import { upload } from '../support/service/api.ts';
import { ProcessUnderTest } from '../support/service/inference-process.ts';
import { startRealService } from '../support/service/real-service.ts';
import { scriptedPcm } from '../support/service/scripted-recognizer.ts';

/* What `npm run status` finds, each by its fault in a real service, as the alerts are. */

async function status(redisUrl: string): Promise<{ code: number | null; text: string }> {
  const command = new ProcessUnderTest('api/operations/status/main.js', { REDIS_URL: redisUrl }, []);
  const { code } = await command.exited;
  return { code, text: command.stdout };
}

test('an upload without a slot that inference is busy with, and one that waits behind it', async () => {
  const model = testFolder();
  writeHangingModel(model);
  const service = await startRealService({ ASR_MODEL: model, ASR_THREADS: '1', ASR_LOG_LEVEL: 'debug' });
  onTestFinished(() => service.stop());
  const { redis, origin, inference } = service;
  const wav = wavFile(scriptedPcm(1));
  const first = upload(origin, wav);
  await expect.poll(() => inference.logged('model call begins'), { timeout: 10_000 }).toHaveLength(1);
  expect(await status(redis.url)).toMatchObject({ code: 0, text: expect.stringContaining('All is well.') });
  await redis.client.del('{asr}:slot');
  expect(await first).toMatchObject({ status: 503 });

  upload(origin, wav).catch(() => undefined);
  await expect
    .poll(() => status(redis.url), { timeout: 10_000 })
    .toMatchObject({
      code: 1,
      text: expect.stringMatching(/inference is busy with the upload \S+, which has no slot any more\.$/m),
    });
  await expect
    .poll(async () => (await status(redis.url)).text, { timeout: 20_000 })
    .toMatch(/^- queue: an upload has waited for inference for \d+\.\d s\.$/m);
}, 90_000);

test('a Redis that lets its user read only some of it', async () => {
  const service = await startRealService();
  onTestFinished(() => service.stop());
  const { client, url } = service.redis;
  await client.call('ACL', 'SETUSER', 'looker', 'on', '>secret', '~{asr}*', '+@all', '-@sortedset');
  const { code, text } = await status(url.replace('//', '//looker:secret@'));
  expect(code).toBe(1);
  expect(text).toMatch(/^- redis: it refuses: NOPERM /m);
  expect(text).toMatch(/^recognizers {2}\?$/m);
  expect(text).not.toContain('no inference process has reported');
}, 60_000);
