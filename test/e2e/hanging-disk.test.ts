import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testFolder } from '../support/machine/folders.ts';
import { startRedis } from '../support/redis/redis.ts';
import { startInferenceProcess } from '../support/service/real-service.ts';
import { scriptedPcm } from '../support/service/scripted-recognizer.ts';
import { TestUploads } from '../support/service/test-upload.ts';

test('a list of hot words on a disk that hangs stops no upload, and not the end of the process', async () => {
  const folder = testFolder();
  const [list, pipe] = [join(folder, 'names.txt'), join(folder, 'pipe')];
  writeFileSync(list, '语音\n');
  execFileSync('mkfifo', [pipe]);
  // A pipe that nobody writes to hangs as a file of a network disk does that is dead.
  const hangs = `import { syncBuiltinESMExports } from 'node:module';
    import fs from 'node:fs/promises';
    const { readFile } = fs;
    process.once('SIGUSR2', () => {
      fs.readFile = (path, ...options) => readFile(path === '${list}' ? '${pipe}' : path, ...options);
      syncBuiltinESMExports();
      console.error('it hangs');
    });`;
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const inference = startInferenceProcess({
    REDIS_URL: redis.url,
    ASR_HOTWORDS: list,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hangs)}`,
  });
  onTestFinished(() => inference.stop());
  await expect.poll(() => inference.logged('model loaded'), { timeout: 25_000 }).toHaveLength(1);
  inference.kill('SIGUSR2');
  await expect.poll(() => inference.stderr).toBe('it hangs\n');
  writeFileSync(list, '识别\n');
  const uploads = await TestUploads.connect(redis);
  onTestFinished(() => uploads.close());
  for (let count = 0; count < 2; count += 1) {
    const { ended } = await uploads.submit(scriptedPcm(0.5));
    expect(await ended).toMatchObject({ kind: 'completed', end: { kind: 'done' } });
  }
  expect(inference.logged('hot words cannot be read: those before stay in use')).toMatchObject([
    { level: 40, reason: 'its disk has not answered within 1 s' },
  ]);

  inference.kill('SIGTERM');
  // Node's own exit would wait for the disk.
  expect(await inference.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(inference.logged('stopped')).toMatchObject([{ failures: 0 }]);
}, 60_000);
