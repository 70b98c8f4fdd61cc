import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LocatedRecognizer } from '../../../inference/located-recognizer.ts';
import { writeEchoModel } from '../../onnx/echo.ts';

test('a model that was copied into its folder behind the load begun ahead is loaded all the same', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'asr-located-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  const folder = join(parent, 'model');
  const recognizer = (): LocatedRecognizer =>
    new LocatedRecognizer(folder, { providers: ['cpu'], threads: 1 });
  const begun = recognizer();
  onTestFinished(() => begun.close());
  begun.begin();
  // Looks for the folder after the first one did.
  await expect(recognizer().load()).rejects.toThrow('there is no folder');
  writeEchoModel(folder, 'nemo-ctc', 32);
  expect(await begun.load()).toMatchObject({ family: 'nemo-ctc', id: folder });
});
