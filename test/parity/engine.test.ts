import { cpSync, mkdtempSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { OnnxRecognizer } from '../../inference/engine/thread/engine.ts';
import { InferenceError, ModelLoadError } from '../../inference/recognizer.ts';
import type { LocatedModel } from '../../models/store/locate.ts';
import { writeFailingModel } from '../onnx/echo.ts';
import { type Fixture, fixtures, SMALL_CTC } from '../support/audio/fixtures.ts';
import { fileFolder } from '../support/machine/folders.ts';
import { MAX_SAMPLES, pcmBytes, recordings } from '../unit/inference/engine/recordings.ts';

const workDir = fileFolder();
const engines: OnnxRecognizer[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

const modelIn = (folder: string): LocatedModel => ({ id: 'test', folder });
const SMALL = modelIn(SMALL_CTC);

function newEngine(): OnnxRecognizer {
  return new OnnxRecognizer({ providers: ['cpu'], threads: 1 });
}

/** It is closed after the test. */
function testEngine(): OnnxRecognizer {
  const engine = newEngine();
  engines.push(engine);
  return engine;
}

async function loadedEngine(model = SMALL): Promise<OnnxRecognizer> {
  const engine = testEngine();
  await engine.load(model);
  return engine;
}

async function recognize(engine: OnnxRecognizer, samples: Int16Array): Promise<string> {
  const stream = await engine.open();
  try {
    return await stream.finish(pcmBytes(samples));
  } finally {
    await stream.close();
  }
}

const NOTHING = new Uint8Array();

function fixture(index: number): Fixture {
  const found = fixtures()[index];
  if (found === undefined) throw new Error(`there is no fixture ${index}`);
  return found;
}

const longest = recordings().find(
  ({ name, samples }) => name.startsWith('speech') && samples.length === MAX_SAMPLES,
);
const fifteenSeconds = pcmBytes(longest?.samples ?? new Int16Array(0));

describe('loading', () => {
  test('tells what was loaded', async () => {
    expect(await testEngine().load(SMALL)).toEqual({
      id: 'test',
      family: 'zipformer2-ctc',
      isReDecoding: false,
      features: 'kaldi',
      vocabularySize: 3211,
      stepMs: 480,
      provider: 'cpu',
      threads: 1,
      loadMs: expect.any(Number),
    });
  });

  test('chooses the CPU by itself where CUDA does not load, and says so only where its library is installed', async () => {
    const said: string[] = [];
    const engine = new OnnxRecognizer({
      providers: 'auto',
      threads: 1,
      log: (line) => said.push(line),
    });
    engines.push(engine);
    const { provider } = await engine.load(SMALL);
    expect(['cpu', 'cuda']).toContain(provider);
    const runtime = dirname(dirname(createRequire(import.meta.url).resolve('onnxruntime-node')));
    const binaries = readdirSync(join(runtime, 'bin'), { recursive: true }).map(String);
    const isInstalled = binaries.some((name) => name.includes('providers_cuda'));
    expect(said).toHaveLength(isInstalled && provider === 'cpu' ? 1 : 0);
  });

  test('can be tried again after it failed, and not while it is loaded', async () => {
    const modelDir = mkdtempSync(join(workDir, 'later-'));
    const engine = testEngine();
    await expect(engine.load(modelIn(modelDir))).rejects.toThrow(ModelLoadError);
    await expect(engine.load(modelIn(modelDir))).rejects.toThrow(
      `${modelDir}: found nothing, expected tokens.txt among them`,
    );
    cpSync(SMALL_CTC, modelDir, { recursive: true });
    expect((await engine.load(modelIn(modelDir))).family).toBe('zipformer2-ctc');
    await expect(engine.load(modelIn(modelDir))).rejects.toThrow(
      'load() needs an idle engine, this one is ready',
    );
    expect(await recognize(engine, fixture(0).samples)).toBe(fixture(0).text);
  });

  test('ends when the engine is closed', async () => {
    const engine = testEngine();
    const load = engine.load(SMALL);
    const closed = engine.close();
    await expect(load).rejects.toThrow(ModelLoadError);
    await closed;
  });
});

describe('a recording', () => {
  /** One for all of them, as in the service. */
  let engine: OnnxRecognizer;
  beforeAll(async () => {
    engine = newEngine();
    await engine.load(SMALL);
  });
  afterAll(() => engine.close());

  test('gives the text of its fixture, whatever came before it', async () => {
    for (const { samples, text } of [fixture(0), fixture(5), fixture(0)]) {
      expect(await recognize(engine, samples)).toBe(text);
    }
  });

  test('gives snapshots that end in the final text', async () => {
    const { samples, text } = fixture(4);
    const stream = await engine.open();
    const snapshots: string[] = [];
    for (let start = 0; start < samples.length; start += 8000) {
      snapshots.push(await stream.accept(pcmBytes(samples.subarray(start, start + 8000))));
    }
    expect(await stream.finish(NOTHING)).toBe(text);
    await stream.close();
    expect(snapshots[0]).toBe('');
    for (const snapshot of snapshots) expect(text.startsWith(snapshot)).toBe(true);
    expect(new Set(snapshots).size).toBeGreaterThan(4);
  });

  test('without samples is empty', async () => {
    expect(await recognize(engine, new Int16Array(0))).toBe('');
  });

  test("leaves the caller's bytes alone", async () => {
    const pool = new Uint8Array(10_000);
    const stream = await engine.open();
    await stream.accept(pool.subarray(100, 3300));
    await stream.close();
    expect(pool.byteLength).toBe(10_000);
  });

  test('takes whole samples only', async () => {
    const stream = await engine.open();
    for (const call of ['accept', 'finish'] as const)
      await expect(stream[call](new Uint8Array(3))).rejects.toThrow(
        `${call}() got 3 bytes: expected whole samples`,
      );
    await stream.close();
  });

  test('waits until the one before it is closed', async () => {
    const order: string[] = [];
    const first = await engine.open();
    const waiting = engine.open().then((stream) => {
      order.push('second opened');
      return stream;
    });
    await first.accept(fifteenSeconds);
    order.push('first finished');
    await first.close();
    await first.close();
    const second = await waiting;
    expect(order).toEqual(['first finished', 'second opened']);
    expect(await second.finish(pcmBytes(fixture(1).samples))).toBe(fixture(1).text);
    await second.close();
  });

  test('can be closed in the middle of a call: the call ends after the model run it is in, and the next recording is not disturbed', async () => {
    const stream = await engine.open();
    const call = stream.accept(fifteenSeconds);
    const closed = stream.close();
    await expect(call).rejects.toThrow('the recording was closed');
    await closed;
    await expect(stream.accept(fifteenSeconds)).rejects.toThrow(InferenceError);
    expect(await recognize(engine, fixture(2).samples)).toBe(fixture(2).text);
  });

  test('whose model run fails ends in an InferenceError, and the next one is not disturbed', async () => {
    const folder = mkdtempSync(join(workDir, 'failing-'));
    writeFailingModel(folder, 32);
    const failing = await loadedEngine(modelIn(folder));
    const stream = await failing.open();
    const loud = pcmBytes(fixture(0).samples);
    const failure = await stream.accept(loud).catch((cause: unknown) => cause);
    expect(failure).toBeInstanceOf(InferenceError);
    expect((failure as Error).message).toMatch(/^model\.onnx: .*Gather/);
    await stream.close();
    expect(await recognize(failing, new Int16Array(16_000))).toBe('');
  });
});

describe('closing the engine', () => {
  test('ends the waiting, and a running call after the model run it is in', async () => {
    const engine = await loadedEngine();
    const stream = await engine.open();
    const waiting = engine.open();
    const running = stream.accept(fifteenSeconds);
    const closed = engine.close();
    await expect(waiting).rejects.toThrow('no recording can start: the engine is closed');
    await expect(running).rejects.toThrow(InferenceError);
    await closed;
    await stream.close();
    await expect(stream.accept(new Uint8Array(2))).rejects.toThrow(InferenceError);
    await expect(engine.open()).rejects.toThrow(InferenceError);
    await expect(engine.load(SMALL)).rejects.toThrow('this one is closed');
  });

  test('can come before loading', async () => {
    const engine = testEngine();
    await expect(engine.open()).rejects.toThrow('no recording can start: the engine is idle');
    await engine.close();
  });
});
