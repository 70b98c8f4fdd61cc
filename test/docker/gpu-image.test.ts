import { beforeAll, expect, test } from 'vitest';
import { buildImages, docker } from './compose.ts';

const IMAGE = 'chinese-asr-inference-gpu';

/** Gigabytes are fetched the first time. Whether a card is used can be seen only where there is one. */
beforeAll(() => buildImages('inference-gpu'), 1_200_000);

test('the image for NVIDIA cards lacks no library but the driver’s', async () => {
  const folder = 'node_modules/onnxruntime-node/bin/napi-v6/linux/x64';
  const list = `ldd ${folder}/libonnxruntime_providers_cuda.so; ls ${folder}/nvidia/*/lib`;
  const found = await docker('run', '--rm', '--entrypoint', 'sh', IMAGE, '-c', list);
  expect([...found.matchAll(/(\S+) => not found/g)].map(([, name]) => name)).toEqual(['libcuda.so.1']);
  // Loaded by name when the first model is.
  for (const name of ['libcudnn.so.9', 'libnvrtc.so.13', 'libcufft.so.12']) expect(found).toContain(name);
});

test('without a card it ends with what is missing', async () => {
  const run = docker('run', '--rm', '--env', 'REDIS_URL=redis://127.0.0.1:1', IMAGE);
  await expect(run).rejects.toMatchObject({
    code: 78,
    stderr: expect.stringMatching(/ASR_EXECUTION_PROVIDERS="cuda": cuda does not load .*driver must be 580/),
  });
});
