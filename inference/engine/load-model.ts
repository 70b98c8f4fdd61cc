import { quoted } from '../../common/printable.ts';
import { ModelLoadError } from '../recognizer.ts';
import type { AcousticModel } from './acoustic-model.ts';
import { errorText } from './error-text.ts';
import { CtcModel } from './families/ctc-model.ts';
import { isNemoCtc, nemoCtcLayout } from './families/nemo-ctc.ts';
import { TransducerModel, type TransducerPart } from './families/transducer-model.ts';
import { isZipformer2, modelType, zipformer2Layout } from './families/zipformer2.ts';
import { createFilterBank } from './features/feature-extractor.ts';
import { FRAME_LENGTH_SAMPLES, MEL_BINS } from './features/frames.ts';
import { findModelFiles, type ModelFiles } from './files/model-files.ts';
import { readOnnxOutline } from './files/onnx-outline.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions } from './network/onnx-session.ts';
import { StreamingNetwork } from './network/streaming-network.ts';
import { readTokenTable, type TokenTable } from './text/tokens.ts';

/**
 * Loads a model folder and runs two steps of silence on it, so that a recording never pays for the first run. The second step is the first
 * one that hears states of the model's own making.
 * @throws ModelLoadError when the files cannot be used, in one line: file, found, expected.
 */
export async function loadAcousticModel(folder: string, options: SessionOptions): Promise<AcousticModel> {
  const model = await loadFolder(folder, options);
  try {
    const decoder = model.open();
    const { signal } = new AbortController();
    for (let step = 0; step < 2; step++) await decoder.run([silence(model)], signal);
  } catch (cause) {
    await model.release();
    throw new ModelLoadError(
      `${folder}: a run on silence failed (${errorText(cause)}), expected a model that runs`,
      {
        cause,
      },
    );
  }
  return model;
}

/** The frames of a step of digital silence. */
function silence({ layout }: AcousticModel): Float32Array {
  const frame = new Float32Array(MEL_BINS);
  createFilterBank(layout.features).compute(new Float32Array(FRAME_LENGTH_SAMPLES), frame);
  const frames = new Float32Array(layout.windowFrames * MEL_BINS);
  for (let start = 0; start < frames.length; start += MEL_BINS) frames.set(frame, start);
  return frames;
}

async function loadFolder(folder: string, options: SessionOptions): Promise<AcousticModel> {
  const files = await findModelFiles(folder);
  const tokens = await readTokenTable(files.tokens);
  switch (files.kind) {
    case 'single':
      return loadCtc(files.model, tokens, options);
    case 'transducer':
      return loadTransducer(files, tokens, options);
    default:
      return files satisfies never;
  }
}

async function loadCtc(path: string, tokens: TokenTable, options: SessionOptions): Promise<AcousticModel> {
  const outline = await readOnnxOutline(path);
  const isNemo = isNemoCtc(outline);
  if (!isNemo && !isZipformer2(outline)) {
    const inputs = outline.inputs.slice(0, 3).map(({ name }) => quoted(name));
    throw new ModelLoadError(
      `${outline.fileName}: found model_type ${modelType(outline)} and inputs ${inputs.join(', ')}, expected a streaming zipformer2 or NeMo CTC model`,
    );
  }
  const layout = isNemo ? nemoCtcLayout(outline) : zipformer2Layout(outline);
  const network = await StreamingNetwork.load(outline, layout, options);
  return orRelease([network], () => new CtcModel(isNemo ? 'nemo-ctc' : 'zipformer2-ctc', network, tokens));
}

async function loadTransducer(
  files: Extract<ModelFiles, { kind: 'transducer' }>,
  tokens: TokenTable,
  options: SessionOptions,
): Promise<AcousticModel> {
  const encoder = await readOnnxOutline(files.encoder);
  const decoder = await readOnnxOutline(files.decoder);
  const joiner = await readOnnxOutline(files.joiner);
  const layout = zipformer2Layout(encoder);
  const loaded: Loaded[] = [];
  return orRelease(loaded, async () => {
    const network = await StreamingNetwork.load(encoder, layout, options);
    loaded.push(network);
    // Small, and called for every frame: the way to another device and back would cost more than it saves.
    const onCpu: SessionOptions = { ...options, providers: ['cpu'], threads: 1 };
    const load = async (outline: TransducerPart['outline']): Promise<TransducerPart> => {
      const onnx = await loadOnnxModel(outline.path, onCpu);
      loaded.push(onnx);
      return { outline, onnx };
    };
    return new TransducerModel(network, await load(decoder), await load(joiner), tokens);
  });
}

type Loaded = Pick<OnnxModel, 'release'>;

/** Frees what was loaded when it turns out not to fit together. */
async function orRelease<T>(loaded: readonly Loaded[], build: () => T | Promise<T>): Promise<T> {
  try {
    return await build();
  } catch (cause) {
    await Promise.all(loaded.map((graph) => graph.release()));
    throw cause;
  }
}
