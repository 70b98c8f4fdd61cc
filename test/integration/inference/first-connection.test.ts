import { expect, it, onTestFinished } from 'vitest';
import type { RedisClient } from '../../../common/redis/client.ts';
import { closeRedis, connectRedis } from '../../../common/redis/connection.ts';
import { Slot } from '../../../common/slot/slot.ts';
import { RedisKeys } from '../../../common/store/keys.ts';
import { UploadStore } from '../../../common/uploads/upload-jobs.ts';
import { ExclusiveRun } from '../../../inference/model/exclusive-run.ts';
import { FenceGuard } from '../../../inference/model/fence.ts';
import { ModelMetrics } from '../../../inference/model/model-metrics.ts';
import { UploadWorker } from '../../../inference/uploads/upload-worker.ts';
// Loaded by then, so that the queue is opened while its connection is made.
import '../../../inference/uploads/queue-worker.ts';
import { createLogger } from '../../../common/process/log.ts';
import { startRedis } from '../../support/redis/redis.ts';
import { ScriptedRecognizer, scriptedPcm, scriptedText } from '../../support/service/scripted-recognizer.ts';
import { TestUploads } from '../../support/service/test-upload.ts';

it('uploads are served also when the first connections of their queue were made anew while they were made', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const keys = new RedisKeys('{asr}');
  const slot = new Slot(redis.store);
  const connect = (name: string): RedisClient =>
    connectRedis({ kind: 'single', url: redis.url }, 'bullmq', name, () => undefined);
  const [connection, reader] = [connect('queue'), connect('reader')];
  onTestFinished(() => closeRedis(connection));
  const jobs = new UploadWorker({
    connection,
    reader,
    keys,
    uploads: new UploadStore(redis.store),
    fences: new FenceGuard(slot),
    model: new ExclusiveRun(
      new ScriptedRecognizer(),
      slot,
      'a',
      createLogger('silent', 'inference'),
      () => undefined,
    ),
    metrics: new ModelMetrics(),
    log: createLogger('silent', 'inference'),
  });
  onTestFinished(() => jobs.stop());
  for (const client of [connection, reader]) client.disconnect(true);
  await jobs.prepare();
  jobs.start();
  const uploads = await TestUploads.connect(redis);
  onTestFinished(() => uploads.close());
  const pcm = scriptedPcm(0.5);
  const { ended } = await uploads.submit(pcm);
  expect(await ended).toMatchObject({ kind: 'completed', end: { text: scriptedText(pcm) } });
});
