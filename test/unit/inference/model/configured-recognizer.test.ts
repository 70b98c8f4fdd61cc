import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { ConfiguredRecognizer } from '../../../../inference/model/configured-recognizer.ts';
import { folderFingerprint } from '../../../../inference/model/folder-change.ts';
import { writeEchoModel } from '../../../onnx/echo.ts';
import { testFolder } from '../../../support/folders.ts';

test('a model that was copied into its folder behind the load begun ahead is loaded all the same', async () => {
  const parent = testFolder();
  const folder = join(parent, 'model');
  const recognizer = (): ConfiguredRecognizer =>
    new ConfiguredRecognizer(folder, { providers: ['cpu'], threads: 1 });
  const begun = recognizer();
  onTestFinished(() => begun.close());
  begun.begin();
  // Looks for the folder after the first one did.
  await expect(recognizer().load()).rejects.toThrow('there is no folder');
  writeEchoModel(folder, 'zipformer2-ctc', 32);
  expect(await begun.load()).toMatchObject({ family: 'zipformer2-ctc', id: folder });
  // Its thread, which nothing else would end.
  await begun.close();
  await expect(begun.open()).rejects.toThrow('the engine is closed');
});

test.each([
  ['bundled', join(packageRoot(), 'models/bundled')],
  ['x-asr-480ms', join(packageRoot(), 'models/downloaded/x-asr-480ms')],
  ['./x-asr-480ms', resolve('x-asr-480ms')],
])('changes of the model %s are looked for in %s', (setting, folder) => {
  expect(new ConfiguredRecognizer(setting, { providers: ['cpu'], threads: 1 }).folder).toBe(folder);
});

test('a load begun ahead that fails is told once, to who asks for the model; the next one tries again', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const options = { providers: ['cpu'], threads: 1 } as const;
  const begun = new ConfiguredRecognizer('/nowhere/at/all', options);
  begun.begin();
  // The same two looks at the folder, after the first one's.
  await folderFingerprint('/nowhere/at/all');
  await new ConfiguredRecognizer('/nowhere/at/all', options).load().catch(() => undefined);
  await new Promise(setImmediate);
  const failed = (): Promise<unknown> => begun.load().catch((error: unknown) => error);
  const [first, second] = [await failed(), await failed()];
  expect([String(first), String(second)]).toEqual(
    Array(2).fill(expect.stringContaining('there is no folder')),
  );
  expect(second).not.toBe(first);
  expect(unhandled).toEqual([]);
});
