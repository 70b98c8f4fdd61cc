import { type FileHandle, open } from 'node:fs/promises';
import { Tensor } from 'onnxruntime-node';
import { type NetworkSignature, type StateSpec, statesOf } from '../onnx/network-signature.ts';
import { type GraphFile, type OnnxOutline, readGraphFile } from '../onnx/onnx-reader.ts';
import { loadOnnxModel, type SessionOptions, usesOnlyCpu } from '../onnx/onnx-session.ts';
import type { TensorType } from '../onnx/onnx-writer.ts';
import { elementCount, outputNamed, type TensorSpec, zeroTensor } from '../onnx/tensors.ts';
import { cutGraph, type GraphPart } from './graph-parts.ts';
import { type LoadedNetwork, type NetworkPart, PartRun, type StepValues } from './network-part.ts';
import { type PartContents, readGraphPart, readScanPart, SCAN_NAMES } from './part-file.ts';

/**
 * Values of weights in a part. They are few enough to stay in a processor's cache from one step to the next,
 * beside what runs with them. They are so many that what a run costs by itself does not count. By
 * measurement: half or twice of it took from 11 % less to 29 % more time.
 */
const PART_VALUES = 2_000_000;

/**
 * Steps in which parts are tried. A size that the runtime knows stays the same. If one is open, parts are
 * tried in as many steps as a recording mostly has: a Scan that gives more in one step than in another fails.
 */
const TRIED_STEPS = { fixedSizes: 2, openSizes: 64 } as const;

/**
 * Loads a large graph in parts, which is faster on a processor when several steps are run together.
 * @returns undefined for what is better loaded as it is: a small file, one for another execution provider.
 * @throws Error if the graph cannot be divided. Loading it as it is then shows whether its file is at fault.
 */
export async function loadParts(
  outline: OnnxOutline,
  signature: NetworkSignature,
  options: SessionOptions,
): Promise<LoadedNetwork | undefined> {
  if (!usesOnlyCpu(options)) return undefined;
  // One handle for all parts: if another file is renamed into its place, the parts are no mixture of both.
  const file = await open(outline.path);
  const loader = new PartsLoader(file, outline, signature, options);
  try {
    return await loader.load();
  } catch (cause) {
    await loader.release();
    throw cause;
  } finally {
    await file.close();
  }
}

class PartsLoader {
  readonly #file: FileHandle;
  readonly #outline: OnnxOutline;
  readonly #signature: NetworkSignature;
  readonly #options: SessionOptions;
  readonly #parts: NetworkPart[] = [];
  /** What crosses from part to part in the first step of digital zeros. */
  readonly #values: StepValues;
  #hasOpenSizes = false;

  constructor(file: FileHandle, outline: OnnxOutline, signature: NetworkSignature, options: SessionOptions) {
    this.#file = file;
    this.#outline = outline;
    this.#signature = signature;
    this.#options = { ...options, isPart: true };
    this.#values = new Map([[signature.input.name, zeroTensor(signature.input)]]);
  }

  async load(): Promise<LoadedNetwork | undefined> {
    const partValues = this.#options.partValues ?? PART_VALUES;
    const { input } = this.#signature;
    const result = this.#outline.outputs[0]?.name ?? '';
    const { fileName } = this.#outline;
    const graph = await readGraphFile(this.#file, fileName);
    if (graph === undefined) return undefined;
    const states = statesOf(this.#outline, this.#signature);
    const nextStates = new Map(states.map(({ spec, next }) => [spec.name, next]));
    const counters = new Set(states.filter(({ spec }) => spec.type === 'int64').map(({ spec }) => spec.name));
    const cut = cutGraph(graph, { input: input.name, result, nextStates, counters, partValues });
    if (cut.length < 2) return undefined;
    for (const part of cut) await this.#loadPart(graph, part, states);
    await this.#try();
    const giver = this.#parts.find(({ onnx }) => onnx.outputNames[0] === SCAN_NAMES.all(result));
    if (giver === undefined) throw new Error(`no part gives ${result}`);
    const steps = { ...input, name: SCAN_NAMES.all(input.name) };
    return { parts: this.#parts, result: giver.onnx, input: steps, takesSeveralSteps: true };
  }

  async release(): Promise<void> {
    await Promise.all(this.#parts.splice(0).map(({ onnx }) => onnx.release()));
  }

  async #loadPart(graph: GraphFile, part: GraphPart, allStates: readonly StateSpec[]): Promise<void> {
    const { nodes, takes, gives } = part;
    const { fileName } = this.#outline;
    const states = allStates.filter(({ spec }) => part.reads.has(spec.name));
    const stateNames = new Set(states.map(({ spec }) => spec.name));
    const reads = [...part.reads].filter((name) => !stateNames.has(name));
    const taken = this.#typesOf(takes);
    await this.#runOnce(graph, { nodes, reads, takes: taken, gives }, states);
    const bytes = await readScanPart(this.#file, graph, {
      nodes,
      reads,
      states: states.map(({ spec, next }) => ({ name: spec.name, next, type: typeOf(spec) })),
      takes: taken,
      gives: this.#typesOf(gives),
    });
    const onnx = await loadOnnxModel({ fileName, bytes }, this.#options);
    this.#parts.push({
      onnx,
      takes: takes.map(SCAN_NAMES.all),
      gives: gives.map(SCAN_NAMES.all),
      states: states.map(({ spec, next }) => ({
        spec: { ...spec, name: SCAN_NAMES.first(spec.name) },
        next: SCAN_NAMES.last(next),
      })),
    });
  }

  /** Runs one step on zeros, with the part's nodes alone: the sizes of what it gives are not known before. */
  async #runOnce(graph: GraphFile, part: PartContents, states: readonly StateSpec[]): Promise<void> {
    const { gives } = part;
    if (gives.length === 0) return;
    const zeros = states.map(({ spec }) => [spec.name, zeroTensor(spec)] as const);
    const takes = new Map([...part.takes, ...states.map(({ spec }) => [spec.name, typeOf(spec)] as const)]);
    const bytes = await readGraphPart(this.#file, graph, { ...part, takes });
    const { fileName } = this.#outline;
    const onnx = await loadOnnxModel({ fileName, bytes }, { ...this.#options, isForOneRun: true });
    try {
      const taken = [...this.#values].filter(([name]) => part.takes.has(name));
      const outputs = await onnx.run(Object.fromEntries([...zeros, ...taken]));
      for (const name of gives) this.#values.set(name, outputNamed(onnx, outputs, name));
      this.#hasOpenSizes ||= onnx.hasOpenSizes;
    } finally {
      await onnx.release();
    }
  }

  #typesOf(names: readonly string[]): Map<string, TensorType> {
    return new Map(
      names.map((name) => {
        const value = this.#values.get(name);
        if (value === undefined) throw new Error(`nothing gives ${name}`);
        return [name, { element: value.type, shape: value.dims }];
      }),
    );
  }

  /** Runs the parts once: what cannot be run is not loaded. */
  async #try(): Promise<void> {
    const { name, shape } = this.#signature.input;
    const stepCount = this.#hasOpenSizes ? TRIED_STEPS.openSizes : TRIED_STEPS.fixedSizes;
    const features = new Float32Array(stepCount * elementCount(this.#signature.input));
    // As wide as log-mel features, and nowhere the same.
    for (let i = 0; i < features.length; i++) features[i] = 10 * Math.sin(i * i);
    const steps = new Tensor('float32', features, [stepCount, ...shape]);
    const values: StepValues = new Map([[SCAN_NAMES.all(name), steps]]);
    for (const part of this.#parts) await new PartRun(part).step(values);
  }
}

function typeOf({ type, shape }: TensorSpec): TensorType {
  return { element: type, shape };
}
