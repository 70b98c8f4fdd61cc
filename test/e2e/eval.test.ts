import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { writeQuickModel } from '../onnx/model-folder.ts';
import { testFolder } from '../support/machine/folders.ts';
import { launch } from './launch/launched.ts';

test('npm run eval says what it does and of how many recordings, without a terminal in plain lines', async () => {
  const [model, set] = [testFolder(), testFolder()];
  await writeQuickModel(model);
  await copyFile(join(packageRoot(), 'test/fixtures/e12.wav'), join(set, 'a.wav'));
  await writeFile(join(set, 'texts.tsv'), 'file\ttext\na.wav\t你好\n');
  const program = join(packageRoot(), 'dist/test/eval/main.js');
  const launched = launch(process.execPath, [program, model, '--recordings', set], {});
  expect(await launched.ended).toBe(0);
  const steps = launched.lines.filter((line) => line.endsWith(' ...'));
  expect(steps).toEqual([`loading ${model} ...`, 'recognizing, 1 in all ...']);
}, 30_000);
