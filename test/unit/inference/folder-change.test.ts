import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { folderChange, folderFingerprint } from '../../../inference/model/folder-change.ts';

test('a folder that changes is waited for until it has stayed the same for an interval', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'asr-folder-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const before = await folderFingerprint(folder);
  writeFileSync(join(folder, 'tokens.txt'), 'a copy that has begun');
  const startedAt = performance.now();
  await folderChange(folder, before, new AbortController().signal, 100);
  // The first look finds the change, the second one no further one.
  expect(performance.now() - startedAt).toBeGreaterThan(190);
});

test('a folder that stays as it is has not changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'asr-folder-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'tokens.txt'), '');
  const before = await folderFingerprint(folder);
  const looks = folderChange(folder, before, AbortSignal.timeout(100), 1);
  await expect(looks).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
});

test('behind a thousand files no subfolder is looked into: a folder named by mistake is not read whole', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'asr-folder-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const weights = join(folder, 'data', 'weights.bin');
  mkdirSync(join(folder, 'data'));
  writeFileSync(weights, '');
  for (let file = 0; file < 1_000; file += 1) writeFileSync(join(folder, `${file}`), '');
  const before = await folderFingerprint(folder);
  writeFileSync(weights, 'others');
  expect(await folderFingerprint(folder)).toBe(before);
});
