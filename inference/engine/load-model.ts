import { ModelLoadError } from '../recognizer.ts';
import type { AcousticModel } from './acoustic-model.ts';
import { MEL_BINS } from './frames.ts';
import { findModelFiles, type ModelFiles } from './model-files.ts';
import { errorText, readModelMetadata } from './model-metadata.ts';
import { NEMO_INPUTS, NemoCtcModel } from './nemo-ctc.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions } from './onnx-session.ts';
import { readTokenTable, type TokenTable } from './tokens.ts';
import { Zipformer2CtcModel } from './zipformer2-ctc.ts';
import { Zipformer2TransducerModel } from './zipformer2-transducer.ts';

/** `model_type` in the metadata of icefall's streaming exports. */
const ZIPFORMER2 = 'zipformer2';

/**
 * Loads a model folder and runs one step on it, so that a recording never pays for the first run.
 * @throws ModelLoadError when the files cannot be used, in one line: file, found, expected.
 */
export async function loadAcousticModel(folder: string, options: SessionOptions): Promise<AcousticModel> {
  const model = await loadFolder(folder, options);
  try {
    await model.open().step(new Float32Array(model.windowFrames * MEL_BINS));
  } catch (cause) {
    await model.release();
    throw new ModelLoadError(
      `${folder}: the first run failed (${errorText(cause)}), expected a model that runs`,
      {
        cause,
      },
    );
  }
  return model;
}

async function loadFolder(folder: string, options: SessionOptions): Promise<AcousticModel> {
  const files = await findModelFiles(folder);
  const tokens = await readTokenTable(files.tokens);
  switch (files.kind) {
    case 'single':
      return loadSingle(files.model, tokens, options);
    case 'transducer':
      return loadTransducer(files, tokens, options);
    default:
      return files satisfies never;
  }
}

async function loadSingle(path: string, tokens: TokenTable, options: SessionOptions): Promise<AcousticModel> {
  const metadata = await readModelMetadata(path);
  const onnx = await loadOnnxModel(path, options);
  try {
    if (NEMO_INPUTS.every((name) => onnx.inputNames.includes(name)))
      return new NemoCtcModel(onnx, metadata, tokens);
    if (metadata.text('model_type') === ZIPFORMER2) return new Zipformer2CtcModel(onnx, metadata, tokens);
    throw new ModelLoadError(
      `${onnx.fileName}: found model_type ${metadata.text('model_type') ?? '(none)'} and inputs ${onnx.inputNames.slice(0, 3).join(', ')}, expected a streaming ${ZIPFORMER2} or NeMo CTC model`,
    );
  } catch (cause) {
    await onnx.release();
    throw cause;
  }
}

async function loadTransducer(
  files: Extract<ModelFiles, { kind: 'transducer' }>,
  tokens: TokenTable,
  options: SessionOptions,
): Promise<AcousticModel> {
  const encoderMetadata = await readModelMetadata(files.encoder);
  const decoderMetadata = await readModelMetadata(files.decoder);
  await readModelMetadata(files.joiner);
  const type = encoderMetadata.text('model_type');
  if (type !== ZIPFORMER2) {
    throw new ModelLoadError(
      `${encoderMetadata.fileName}: found model_type ${type ?? '(none)'}, expected ${ZIPFORMER2}`,
    );
  }
  const loaded: OnnxModel[] = [];
  const load = async (path: string, partOptions: SessionOptions): Promise<OnnxModel> => {
    const onnx = await loadOnnxModel(path, partOptions);
    loaded.push(onnx);
    return onnx;
  };
  try {
    const encoder = await load(files.encoder, options);
    // Small, and called for every frame: the way to another device and back would cost more than it saves.
    const onCpu = { ...options, providers: ['cpu'], threads: 1 };
    const decoder = await load(files.decoder, onCpu);
    const joiner = await load(files.joiner, onCpu);
    return new Zipformer2TransducerModel(
      { encoder, decoder, joiner },
      encoderMetadata,
      decoderMetadata,
      tokens,
    );
  } catch (cause) {
    await Promise.all(loaded.map((onnx) => onnx.release()));
    throw cause;
  }
}
