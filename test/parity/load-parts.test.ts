import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { zipformerLayout } from '../../inference/engine/families/zipformer/layout.ts';
import type { NetworkSignature } from '../../inference/engine/onnx/network-signature.ts';
import { type OnnxOutline, readOnnxOutline } from '../../inference/engine/onnx/onnx-reader.ts';
import { loadOnnxModel, OnnxModel, type SessionOptions } from '../../inference/engine/onnx/onnx-session.ts';
import { elementCount } from '../../inference/engine/onnx/tensors.ts';
import { loadParts } from '../../inference/engine/partition/load-parts.ts';
import type { LoadedNetwork } from '../../inference/engine/partition/network-part.ts';
import { type RunSteps, StreamingNetwork } from '../../inference/engine/partition/streaming-network.ts';
import { OnnxGraph, type Value } from '../onnx/graph.ts';
import { SMALL_SIZES } from '../onnx/model-folder.ts';
import { Weights } from '../onnx/weights.ts';
import { buildZipformer2 } from '../onnx/zipformer2.ts';
import { fileFolder } from '../support/machine/folders.ts';

const workDir = fileFolder();

const CPU: SessionOptions = { providers: ['cpu'], threads: 1, log: () => {} };
const VOCABULARY_SIZE = 20;
const STEPS = 21;
const never = new AbortController().signal;
setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;
let files = 0;

async function fileOf(model: Uint8Array): Promise<OnnxOutline> {
  const path = join(workDir, `model-${files++}.onnx`);
  writeFileSync(path, model);
  return readOnnxOutline(path);
}

/** Whether this process has it open, where the system says so. */
function isOpen(path: string): boolean {
  const folder = '/proc/self/fd';
  if (!existsSync(folder)) return false;
  return readdirSync(folder).some((fd) => {
    try {
      return readlinkSync(join(folder, fd)) === path;
    } catch {
      return false; // closed meanwhile
    }
  });
}

describe.each([
  { frontEnd: 'mixing', features: 'kaldi', int8: false, partValues: 500, parts: 10 },
  { frontEnd: 'mixing', features: 'whisper', int8: true, partValues: 500, parts: 10 },
  { frontEnd: 'convolutions', features: 'kaldi', int8: false, partValues: 10_000, parts: 2 },
] as const)('a $frontEnd Zipformer in parts of $partValues values, int8 $int8', (variant) => {
  const { frontEnd, features, int8, partValues } = variant;
  const random = new Weights(7);
  let steps: Float32Array[];
  let expected: number[][];
  let network: StreamingNetwork;
  let outline: OnnxOutline;

  beforeAll(async () => {
    const { model } = buildZipformer2({
      sizes: SMALL_SIZES,
      chunkFrames: 16,
      features,
      int8,
      seed: 5,
      reads: int8 ? 'loud or not' : 'levels',
      output: { kind: 'ctc', size: VOCABULARY_SIZE },
      frontEnd,
    });
    outline = await fileOf(model);
    const layout = zipformerLayout(outline);
    const frameValues = 80 * layout.windowFrames;
    steps = Array.from({ length: STEPS }, () => random.normals(frameValues, 3));
    const whole = await StreamingNetwork.load(outline, layout, CPU);
    expected = toNumbers(await whole.open(VOCABULARY_SIZE)(steps, never));
    await whole.release();
    network = await StreamingNetwork.load(outline, layout, { ...CPU, partValues });
  });
  afterAll(() => network.release());

  test('has several, which run once for all steps', async () => {
    const divided = await loadParts(outline, zipformerLayout(outline).signature, { ...CPU, partValues });
    expect(divided?.parts.length).toBeGreaterThanOrEqual(variant.parts);
    expect(isOpen(outline.path)).toBe(false);
    await release(divided);
    const run = network.open(VOCABULARY_SIZE);
    const runs = vi.spyOn(OnnxModel.prototype, 'run');
    onTestFinished(() => runs.mockRestore());
    await run(steps, never);
    expect(runs).toHaveBeenCalledTimes(divided?.parts.length ?? 0);
  });

  test.each([1, 2, 16, STEPS])('gives what the graph gives, %i steps at a time', async (count) => {
    const run = network.open(VOCABULARY_SIZE);
    const found: number[][] = [];
    for (let start = 0; start < STEPS; start += count)
      found.push(...toNumbers(await run(steps.slice(start, start + count), never)));
    expectNear(found, expected);
  });

  test('two recordings do not hear each other', async () => {
    const [one, other] = [network.open(VOCABULARY_SIZE), network.open(VOCABULARY_SIZE)];
    const found: number[][] = [];
    for (let start = 0; start < STEPS; start += 3) {
      found.push(...toNumbers(await one(steps.slice(start, start + 3), never)));
      await other(steps.slice(0, 2), never);
    }
    expectNear(found, expected);
  });

  test.each(['in one piece', 'in parts'])('%s hands its states on without a copy', async (form) => {
    const layout = zipformerLayout(outline);
    const options = form === 'in parts' ? { ...CPU, partValues } : CPU;
    const loaded = await StreamingNetwork.load(outline, layout, options);
    onTestFinished(() => loaded.release());
    const original = OnnxModel.prototype.run;
    const given = new Set<unknown>();
    let handedOn = 0;
    const runs = vi.spyOn(OnnxModel.prototype, 'run').mockImplementation(async function (
      this: OnnxModel,
      feeds,
    ) {
      handedOn += Object.values(feeds).filter((tensor) => given.has(tensor)).length;
      return original.call(this, feeds);
    });
    onTestFinished(() => runs.mockRestore());
    const run = loaded.open(VOCABULARY_SIZE);
    await run(steps.slice(0, 1), never);
    for (const { value } of runs.mock.results)
      for (const tensor of Object.values(await value)) given.add(tensor);
    handedOn = 0;
    await run(steps.slice(1, 2), never);
    // The counter is read by several parts, and kept by each.
    expect(handedOn).toBeGreaterThanOrEqual(layout.signature.states.length);
  });

  test('keeps nothing of the steps behind it', async () => {
    const run = network.open(VOCABULARY_SIZE);
    const round = async (): Promise<void> => void (await run(steps, never));
    await round();
    const keptBytes = (): number => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const before = keptBytes();
    for (let i = 0; i < 20; i++) await round();
    const { states } = zipformerLayout(outline).signature;
    const stateBytes = 4 * states.reduce((sum, state) => sum + elementCount(state), 0);
    // The runtime frees what is garbage a little later.
    await expect.poll(() => keptBytes() - before).toBeLessThan(5 * stateBytes);
  });

  test('runs no more once it is released', async () => {
    const released = await StreamingNetwork.load(outline, zipformerLayout(outline), { ...CPU, partValues });
    const run = released.open(VOCABULARY_SIZE);
    await run(steps.slice(0, 1), never);
    await released.release();
    await expect(run(steps.slice(0, 1), never)).rejects.toThrow('disposed');
  });

  test('ends between two runs when it is aborted', async () => {
    const abort = new AbortController();
    const running = network.open(VOCABULARY_SIZE)(steps, abort.signal);
    const reason = new Error('the recording was closed');
    setImmediate(() => abort.abort(reason));
    await expect(running).rejects.toBe(reason);
  });
});

interface ChainOptions {
  readonly handsStateOn?: boolean;
  readonly weightsAreInputs?: boolean;
  readonly irVersion?: number;
}

/**
 * A network of a state, which counts the steps whatever is heard, and two products with weights: what is
 * between them is up to the test.
 */
async function chainOf(
  between: (graph: OnnxGraph, value: Value) => Value,
  last: (graph: OnnxGraph, value: Value) => Value = (_, value) => value,
  { handsStateOn = false, ...form }: ChainOptions = {},
): Promise<[OnnxOutline, NetworkSignature]> {
  const graph = new OnnxGraph();
  const weights = (seed: number): Value => graph.floats(new Weights(seed).normals(16, 1), [4, 4]);
  const x = graph.input('x', 'float32', [1, 4]);
  const state = graph.input('s', 'float32', [1, 4]);
  const sum = graph.op('Add', [
    graph.op('Add', [graph.op('MatMul', [x, weights(1)]), state]),
    graph.float(1),
  ]);
  const next = graph.named('s1', sum);
  const y = last(graph, graph.op('MatMul', [between(graph, handsStateOn ? next : sum), weights(2)]));
  graph.output('y', y, 'float32', [1, 4]);
  graph.output('s1', next, 'float32', [1, 4]);
  const spec = (name: string) => ({ name, type: 'float32', shape: [1, 4] }) as const;
  return [await fileOf(graph.build(form)), { input: spec('x'), states: [spec('s')] }];
}

/** One step of the features is one of the network. */
async function opened(
  [outline, signature]: [OnnxOutline, NetworkSignature],
  options: SessionOptions,
): Promise<RunSteps> {
  const fillInput = (frames: Float32Array, input: Float32Array): void => input.set(frames);
  const layout = { windowFrames: 1, shiftFrames: 1, features: 'kaldi', signature, fillInput } as const;
  const network = await StreamingNetwork.load(outline, layout, options);
  onTestFinished(() => network.release());
  return network.open(4);
}

describe('a graph', () => {
  const small = { ...CPU, partValues: 16 };

  async function partCount(
    [outline, signature]: [OnnxOutline, NetworkSignature],
    options: SessionOptions = small,
  ): Promise<number | undefined> {
    const divided = await loadParts(outline, signature, options);
    await release(divided);
    return divided?.parts.length;
  }

  test('is divided on a processor, and only when it is large', async () => {
    const chain = await chainOf((_, value) => value);
    expect(await partCount(chain)).toBe(2);
    expect(await partCount(chain, CPU)).toBeUndefined();
    expect(await partCount(chain, { ...small, providers: ['cuda', 'cpu'] })).toBeUndefined();
  });

  /** The cut is behind the node that reads this. */
  const heavy = (graph: OnnxGraph): Value => graph.floats(new Weights(3).normals(64, 1), [16, 4]);
  const behindHeavy = { ...CPU, partValues: 40 };
  const firstRow = (graph: OnnxGraph, value: Value): Value =>
    graph.op('ReduceMax', [graph.op('Cast', [value], { to: 1 })], { axes: [0], keepdims: 1 });

  test.each([
    ['a truth value crosses', (graph: OnnxGraph, value: Value) => graph.op('Greater', [value, heavy(graph)])],
    [
      'the rank of what crosses is known in a run only',
      (graph: OnnxGraph, value: Value) => {
        const open = graph.withOpenShape(value, graph.op('Cast', [value], { to: 7 }));
        return graph.op('Add', [graph.op('Squeeze', [open]), heavy(graph)]);
      },
    ],
  ] as const)('is divided where %s', async (_, between) => {
    const chain = await chainOf((graph, value) => firstRow(graph, between(graph, value)));
    expect(await partCount(chain, behindHeavy)).toBe(2);
    const steps = [1, -1].map((sign) => Float32Array.of(sign, 0, -sign, 2 * sign));
    const whole = toNumbers(await (await opened(chain, CPU))(steps, never));
    expectNear(toNumbers(await (await opened(chain, behindHeavy))(steps, never)), whole);
    expect(whole[1]).not.toEqual(whole[0]);
  });

  test('stays as it is where something else than a tensor would cross', async () => {
    const sequence = await chainOf((graph, value) => {
      const items = graph.op('SequenceConstruct', [value, heavy(graph)]);
      return graph.op('SequenceAt', [items, graph.op('Constant', [], { value_int: 0 })]);
    });
    await expect(partCount(sequence, behindHeavy)).rejects.toThrow('Non tensor type');
    // It runs in one piece.
    const whole = await loadOnnxModel(sequence[0].path, CPU);
    await whole.release();
  });

  test('stays as it is when a part does not run', async () => {
    const chain = await chainOf((graph, value) =>
      graph.op('Gather', [value, graph.op('Cast', [graph.op('Add', [value, graph.float(9)])], { to: 7 })]),
    );
    await expect(partCount(chain)).rejects.toThrow('Gather');
    const lines: string[] = [];
    await opened(chain, { ...small, log: (line) => lines.push(line) });
    expect(lines).toEqual([
      expect.stringMatching(
        /^model-\d+\.onnx runs in one piece, where in parts it would be faster \(model-\d+\.onnx: .*Gather.*\)$/,
      ),
    ]);
  });

  test.each([2, 60])('stays as it is when it gives more from step %i on', async (fullStep) => {
    const chain = await chainOf((graph, value) => {
      const isFull = graph.op('Greater', [graph.op('ReduceMax', [value]), graph.float(fullStep - 0.5)]);
      return graph.op('Compress', [value, graph.op('Reshape', [isFull, graph.ints([1])])], { axis: 0 });
    });
    await expect(partCount(chain)).rejects.toThrow('Scan');
    const run = await opened(chain, small);
    const steps = Array.from({ length: fullStep }, () => new Float32Array(4));
    const sizes = (await run(steps, never)).map(({ length }) => length);
    expect(sizes).toEqual([...new Array(fullStep - 1).fill(0), 4]);
  });

  test('of the form in which weights are inputs is divided', async () => {
    const chain = await chainOf((_, value) => value, undefined, { weightsAreInputs: true, irVersion: 3 });
    expect(await partCount(chain)).toBe(2);
    const steps = [1, 2].map(() => Float32Array.of(1, 0, 1, 2));
    const whole = toNumbers(await (await opened(chain, CPU))(steps, never));
    expectNear(toNumbers(await (await opened(chain, small))(steps, never)), whole);
  });

  test('in parts gives what its file declares of the result', async () => {
    const [outline, signature] = await chainOf(
      (_, value) => value,
      (graph, value) => graph.withOpenShape(value, graph.op('Cast', [value], { to: 7 })),
    );
    const divided = await loadParts(outline, signature, small);
    expect(divided?.parts).toHaveLength(2);
    expect(divided?.result.lastOutputDimension()).toBe(4);
    await release(divided);
  });

  test('in parts keeps its states', async () => {
    const chain = await chainOf((_, value) => value);
    const steps = [1, 2, 3].map(() => Float32Array.of(1, 0, 1, 2));
    const whole = await (await opened(chain, CPU))(steps, never);
    expectNear(toNumbers(await (await opened(chain, small))(steps, never)), toNumbers(whole));
    expect(whole[2]).not.toEqual(whole[0]);
  });

  test('hands a state on that another part reads, too', async () => {
    const chain = await chainOf((_, value) => value, undefined, { handsStateOn: true });
    expect(await partCount(chain)).toBe(2);
    const steps = [1, 2, 3].map(() => Float32Array.of(1, 0, 1, 2));
    const whole = toNumbers(await (await opened(chain, CPU))(steps, never));
    expectNear(toNumbers(await (await opened(chain, small))(steps, never)), whole);
  });
});

function toNumbers(rows: readonly Float32Array[]): number[][] {
  return rows.map((values) => Array.from(values));
}

/** Other fusions across the borders round in other places. */
function expectNear(found: readonly number[][], expected: readonly number[][]): void {
  expect(found.length).toBe(expected.length);
  for (const [i, row] of expected.entries()) {
    expect(found[i]?.length).toBe(row.length);
    for (const [j, value] of row.entries())
      expect(found[i]?.[j], `row ${i}, value ${j}`).toBeCloseTo(value, 3);
  }
}

async function release(divided: LoadedNetwork | undefined): Promise<void> {
  await Promise.all(divided?.parts.map(({ onnx }) => onnx.release()) ?? []);
}
