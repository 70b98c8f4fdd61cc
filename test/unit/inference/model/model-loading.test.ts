import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../../common/process/log.ts';
import { OnnxRecognizer } from '../../../../inference/engine/thread/engine.ts';
import { folderFingerprint } from '../../../../inference/model/folder-change.ts';
import { ModelLoading } from '../../../../inference/model/model-loading.ts';
import { locateModel } from '../../../../models/store/locate.ts';
import { writeEchoModel } from '../../../onnx/echo.ts';
import { testFolder } from '../../../support/machine/folders.ts';

const NO_HEARTBEAT = { report: async () => {} };
const log = createLogger('silent', 'inference');

test('a model that was copied into its folder behind the load begun ahead is loaded all the same', async () => {
  const folder = join(testFolder(), 'model');
  const recognizer = new OnnxRecognizer({ providers: ['cpu'], threads: 1 });
  onTestFinished(() => recognizer.close());
  const loading = new ModelLoading({ recognizer, setting: folder, log });
  loading.begin();
  // The same two looks at the folder, after the first one's.
  await folderFingerprint(folder);
  await expect(locateModel(folder)).rejects.toThrow('there is no folder');
  writeEchoModel(folder, 'zipformer2-ctc', 32);
  const loaded = loading.untilLoaded(NO_HEARTBEAT, new AbortController().signal, () => undefined);
  expect(await loaded).toMatchObject({ family: 'zipformer2-ctc', id: folder });
});

test('a load begun ahead that fails is told once, to who asks for the model; the next one tries again', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const lines: Record<string, unknown>[] = [];
  const told = createLogger('error', 'inference', {
    write: (line: string) => void lines.push(JSON.parse(line)),
  });
  const recognizer = new OnnxRecognizer({ providers: ['cpu'], threads: 1 });
  const setting = '/nowhere/at/all';
  const loading = new ModelLoading({ recognizer, setting, log: told, tryAgainMs: 1 });
  loading.begin();
  await folderFingerprint(setting);
  await locateModel(setting).catch(() => undefined);
  await new Promise(setImmediate);
  expect([lines, unhandled]).toEqual([[], []]);
  const ended = new AbortController();
  const failed = (): void => {
    if (lines.length === 2) ended.abort(new Error('ended'));
  };
  await expect(loading.untilLoaded(NO_HEARTBEAT, ended.signal, failed)).rejects.toThrow();
  const reason = expect.stringContaining('there is no folder');
  expect(lines).toMatchObject([{ reason }, { reason }]);
  expect(unhandled).toEqual([]);
});
