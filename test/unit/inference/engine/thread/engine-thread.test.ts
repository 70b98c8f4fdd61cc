import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterEach, expect, test, vi } from 'vitest';
import { OnnxRecognizer } from '../../../../../inference/engine/thread/engine.ts';
import { InferenceError, ModelLoadError } from '../../../../../inference/recognizer.ts';
import { writeEchoModel } from '../../../../onnx/echo.ts';
import { fileFolder } from '../../../../support/machine/folders.ts';

const workDir = fileFolder();
const model = { id: 'test', folder: join(workDir, 'model') };
writeEchoModel(model.folder, 'zipformer2-ctc', 32);
const engines: OnnxRecognizer[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

function newEngine(): OnnxRecognizer {
  const engine = new OnnxRecognizer({ providers: ['cpu'], threads: 1 });
  engines.push(engine);
  return engine;
}

/** The thread of the engine that loads next. */
function nextThread(): Promise<Worker> {
  return new Promise((resolve) => process.once('worker', resolve));
}

const fifteenSeconds = (): Uint8Array => new Uint8Array(480_000);

test('a thread that dies in a recording fails what runs and all that comes, ends no wait unanswered, and can be replaced', async () => {
  const engine = newEngine();
  const [thread] = await Promise.all([nextThread(), engine.load(model)]);
  const stream = await engine.open();
  const running = stream.accept(fifteenSeconds());
  const waiting = engine.open();
  // No request: reading its type is the thread's end, between two model runs.
  thread.postMessage(null);
  const reason = "the engine has ended: Cannot read properties of null (reading 'type')";
  await expect(running).rejects.toThrow(new InferenceError(reason));
  await expect(stream.finish(new Uint8Array())).rejects.toThrow(new InferenceError(reason));
  await stream.close();
  await expect(waiting).rejects.toThrow('no recording can start: the engine is idle');
  await engine.load(model);
  const next = await engine.open();
  expect(await next.accept(fifteenSeconds())).toBe('');
  await next.close();
});

test('a list of hot words goes to the thread when it is another one, and the log says what a model without a judge does with it', async () => {
  const [lines, asked]: [string[], number[]] = [[], []];
  let list = [{ phrase: '净利润', score: 2.5 }];
  const engine = new OnnxRecognizer({
    providers: ['cpu'],
    threads: 1,
    log: (line) => lines.push(line),
    hotwords: async () => {
      asked.push(list.length);
      return list;
    },
  });
  engines.push(engine);
  const told = (): number =>
    lines.filter((line) => line.startsWith('this model cannot judge hot words')).length;
  await engine.load(model);
  expect(told()).toBe(1);
  for (const expected of [1, 2, 2]) {
    const stream = await engine.open();
    await stream.close();
    expect(told()).toBe(expected);
    list = expected === 1 ? [] : list;
  }
  expect(asked).toEqual([1, 1, 0, 0]);
});

test('a thread that dies while it loads is a model that does not load, and can be tried again', async () => {
  const engine = newEngine();
  const loading = engine.load(model);
  // Before the runtime is there, which does not survive this.
  await (await nextThread()).terminate();
  await expect(loading).rejects.toThrow(
    new ModelLoadError("the engine's thread ended while loading: its thread was closed"),
  );
  expect(await engine.load(model)).toMatchObject({ id: 'test', stepMs: 320 });
});

test.each([
  [undefined, '1'],
  ['0', '0'],
])('onnxruntime is told to report nothing, unless the operator has said %j', async (given, told) => {
  vi.stubEnv('ORT_DISABLE_TELEMETRY', given);
  await expect(newEngine().load({ id: 'test', folder: workDir })).rejects.toThrow(ModelLoadError);
  expect(process.env['ORT_DISABLE_TELEMETRY']).toBe(told);
});
