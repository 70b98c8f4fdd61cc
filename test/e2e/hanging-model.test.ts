import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { SAME_SIGNAL_MS } from '../../common/process/shutdown.ts';
import { RedisKeys } from '../../common/store/keys.ts';
import { writeHangingModel } from '../onnx/hanging.ts';
import { testFolder } from '../support/machine/folders.ts';
import { startRedis } from '../support/redis/redis.ts';
import { startInferenceProcess } from '../support/service/real-service.ts';
import { scriptedPcm } from '../support/service/scripted-recognizer.ts';
import { TestUploads } from '../support/service/test-upload.ts';

/**
 * An inference process whose model hangs in its first recording, which is submitted.
 * @param matrixSize it comes back after a time that grows with its cube
 */
async function inferenceThatHangs(env: Readonly<Record<string, string>> = {}, matrixSize?: number) {
  const folder = testFolder();
  writeHangingModel(folder, matrixSize);
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const uploads = await TestUploads.connect(redis);
  onTestFinished(() => uploads.close());
  const inference = startInferenceProcess({
    REDIS_URL: redis.url,
    ASR_MODEL: folder,
    ASR_THREADS: '1',
    ...env,
  });
  onTestFinished(() => inference.stop());
  await expect.poll(() => inference.logged('model loaded'), { timeout: 25_000 }).toHaveLength(1);
  await uploads.submit(scriptedPcm(1));
  return { redis, inference };
}

test('a second signal ends inference though its model hangs in native code', async () => {
  const { redis, inference } = await inferenceThatHangs();
  const { queueName, prefix } = new RedisKeys('{asr}');
  await expect.poll(() => redis.client.llen(`${prefix}:${queueName}:active`)).toBe(1);
  inference.kill('SIGTERM');
  await expect.poll(() => inference.logged('shutting down')).toHaveLength(1);
  // Sooner, it would be the same signal once more.
  await sleep(2 * SAME_SIGNAL_MS);
  inference.kill('SIGTERM');
  expect(await inference.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(inference.logged('second signal: exiting at once')).toHaveLength(1);
}, 30_000);

test('a second signal is exit code 1 while inference waits for nothing but Redis', async () => {
  const { redis, inference } = await inferenceThatHangs({ ASR_LOG_LEVEL: 'debug' }, 500);
  await expect.poll(() => inference.logged('model call begins')).toHaveLength(1);
  await redis.pause();
  await expect.poll(() => inference.logged('model call ends'), { timeout: 25_000 }).toHaveLength(1);
  inference.kill('SIGTERM');
  await expect.poll(() => inference.logged('shutting down')).toHaveLength(1);
  await sleep(2 * SAME_SIGNAL_MS);
  inference.kill('SIGTERM');
  expect(await inference.exited).toEqual({ code: 1, signal: null });
  await redis.resume();
}, 60_000);

test('inference that is to stop ends when its time is over, though its model hangs in native code', async () => {
  // The active recording may take 40 s; here that is a third of a second.
  const hurry = 'const t=setTimeout;globalThis.setTimeout=(f,ms,...a)=>t(f,ms===40000?333:ms,...a)';
  const { redis, inference } = await inferenceThatHangs({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hurry)}`,
  });
  const { queueName, prefix } = new RedisKeys('{asr}');
  await expect.poll(() => redis.client.llen(`${prefix}:${queueName}:active`)).toBe(1);
  inference.kill('SIGTERM');
  expect(await inference.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(inference.logged('not drained in time: exiting')).toHaveLength(1);
}, 30_000);

test('a model that hangs ends inference', async () => {
  // A model call may take a minute; here that is a third of a second.
  const hurry = 'const t=setTimeout;globalThis.setTimeout=(f,ms,...a)=>t(f,ms===60000?333:ms,...a)';
  const { inference } = await inferenceThatHangs({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hurry)}`,
  });
  expect(await inference.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(inference.logged('ending')).toMatchObject([{ level: 60, err: { type: 'EngineLost' } }]);
  expect(inference.stderr).toBe('asr inference: a model call has not returned for 60 s\n');
}, 30_000);
