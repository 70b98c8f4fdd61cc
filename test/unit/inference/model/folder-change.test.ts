import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { folderChange, folderFingerprint } from '../../../../inference/model/folder-change.ts';
import { eventually } from '../../../support/machine/eventually.ts';
import { testFolder } from '../../../support/machine/folders.ts';

function makeFolder(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
}

/** Writes a file, and the folders on its way, as a copy by rename does. */
function write(path: string, content: string): void {
  makeFolder(path);
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

const MODEL = 'model.onnx';
const WEIGHTS = 'data/parts/weights.bin';

test.for([
  { what: 'it appears', file: MODEL, begin: () => {}, change: write },
  {
    what: 'the rights of a file of it change',
    file: MODEL,
    begin: write,
    change: (at: string) => chmodSync(at, 0o600),
  },
  { what: 'a file in a subfolder of it appears', file: WEIGHTS, begin: makeFolder, change: write },
  { what: 'a file in a subfolder of it is replaced', file: WEIGHTS, begin: write, change: write },
])('a folder has changed when $what', async ({ file, begin, change }) => {
  const folder = join(testFolder(), 'model');
  const path = join(folder, file);
  begin(path, 'half');
  const before = await folderFingerprint(folder);
  // Times are those of the system's last tick: the same change counts when it comes in the next one.
  await eventually(async () => {
    change(path, 'whole');
    expect(await folderFingerprint(folder)).not.toBe(before);
  });
});

test('a folder has not changed for what lies in a hidden one, and has in spite of a circle of links', async () => {
  const folder = testFolder();
  mkdirSync(join(folder, '.git', 'objects'), { recursive: true });
  symlinkSync('.', join(folder, 'itself'));
  const before = await folderFingerprint(folder);
  writeFileSync(join(folder, '.git', 'objects', 'pack'), '');
  expect(await folderFingerprint(folder)).toBe(before);
  writeFileSync(join(folder, MODEL), '');
  expect(await folderFingerprint(folder)).not.toBe(before);
});

test('a folder that changes is waited for until it has stayed the same for an interval', async () => {
  const folder = testFolder();
  const before = await folderFingerprint(folder);
  writeFileSync(join(folder, 'tokens.txt'), 'a copy that has begun');
  const startedAt = performance.now();
  await folderChange(folder, before, new AbortController().signal, 100);
  // The first look finds the change, the second one no further one.
  expect(performance.now() - startedAt).toBeGreaterThan(190);
});

test('a folder that stays as it is has not changed', async () => {
  const folder = testFolder();
  writeFileSync(join(folder, 'tokens.txt'), '');
  const before = await folderFingerprint(folder);
  const looks = folderChange(folder, before, AbortSignal.timeout(100), 1);
  await expect(looks).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
});

test('behind a thousand files no subfolder is looked into: a folder named by mistake is not read whole', async () => {
  const folder = testFolder();
  const weights = join(folder, 'data', 'weights.bin');
  mkdirSync(join(folder, 'data'));
  writeFileSync(weights, '');
  for (let file = 0; file < 1_000; file += 1) writeFileSync(join(folder, `${file}`), '');
  const before = await folderFingerprint(folder);
  writeFileSync(weights, 'others');
  expect(await folderFingerprint(folder)).toBe(before);
});
