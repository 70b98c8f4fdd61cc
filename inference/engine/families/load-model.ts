import { basename } from 'node:path';
import { CHUNK_BYTES } from '../../../common/audio/limits.ts';
import { quoted } from '../../../common/errors/printable.ts';
import { ModelLoadError } from '../../recognizer.ts';
import { findModelFiles, type ModelFiles } from '../onnx/model-files.ts';
import { type OnnxOutline, readOnnxOutline } from '../onnx/onnx-outline.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions, usesOnlyCpu } from '../onnx/onnx-session.ts';
import { StreamingNetwork } from '../partition/streaming-network.ts';
import type { EngineModel } from '../recording/engine-model.ts';
import { StreamingModel } from '../recording/streaming-model.ts';
import { readSimplify } from '../text/chinese-text.ts';
import { errorText } from '../text/error-text.ts';
import { readTokenTable, type TokenTable } from '../text/tokens.ts';
import { CtcModel } from './ctc-model.ts';
import { isParaformer, paraformerLayout, streamingParaformerLayout } from './paraformer.ts';
import { ParaformerModel } from './paraformer-model.ts';
import { isSenseVoice, senseVoiceLayout } from './sense-voice.ts';
import { SenseVoiceModel } from './sense-voice-model.ts';
import { StreamingParaformerModel } from './streaming-paraformer-model.ts';
import { TransducerModel, type TransducerPart } from './transducer-model.ts';
import { isWhisper, whisperLayout } from './whisper.ts';
import { WhisperModel } from './whisper-model.ts';
import { isFirstZipformer, isZipformer2, modelType, zipformerLayout } from './zipformer.ts';

const WARM_UP_BYTES = CHUNK_BYTES;
/** An input of NeMo's streaming exports. */
const NEMO_STATE = 'cache_last_channel';

/**
 * Loads a model folder and runs it once on silence, so that a recording never pays for the first run.
 * @throws ModelLoadError when the files cannot be used, in one line: file, found, expected.
 */
export async function loadModel(folder: string, options: SessionOptions): Promise<EngineModel> {
  const model = await loadFolder(folder, options);
  try {
    await warmUp(model);
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

async function warmUp(model: EngineModel): Promise<void> {
  if (model instanceof StreamingModel) return model.warmUp();
  await model.open(new AbortController().signal).finish(new Uint8Array(WARM_UP_BYTES));
}

async function loadFolder(folder: string, options: SessionOptions): Promise<EngineModel> {
  const files = await findModelFiles(folder, usesOnlyCpu(options) ? 'int8' : 'full');
  switch (files.kind) {
    case 'single':
      return loadSingle(files.model, await readTokenTable(files.tokens), forPrecision(files.model, options));
    case 'transducer':
      return loadTransducer(files, await readTokenTable(files.tokens), forPrecision(files.encoder, options));
    case 'encoder-decoder':
      return loadEncoderDecoder(
        files,
        await readTokenTable(files.tokens),
        forPrecision(files.encoder, options),
      );
    default:
      return files satisfies never;
  }
}

/** CUDA cannot multiply matrices of dynamic int8: at each such product, a model would go to the card and back. */
function forPrecision(path: string, options: SessionOptions): SessionOptions {
  if (options.providers !== 'auto' || usesOnlyCpu(options) || !path.endsWith('.int8.onnx')) return options;
  options.log(`${basename(path)} is the only file of its kind and int8, which CUDA does not run: using cpu`);
  return { ...options, providers: ['cpu'] };
}

async function loadSingle(path: string, tokens: TokenTable, options: SessionOptions): Promise<EngineModel> {
  const outline = await readOnnxOutline(path);
  if (isSenseVoice(outline)) return loadSenseVoice(outline, tokens, options);
  if (isParaformer(outline)) return loadParaformer(outline, tokens, options);
  if (outline.inputs.some(({ name }) => name === NEMO_STATE)) {
    throw new ModelLoadError(
      `${outline.fileName}: found a NeMo model, which is not supported any more since November 2026; npm run models -- list shows other models`,
    );
  }
  if (!isZipformer2(outline)) {
    const inputs = outline.inputs.slice(0, 3).map(({ name }) => quoted(name));
    throw new ModelLoadError(
      `${outline.fileName}: found model_type ${modelType(outline)} and inputs ${inputs.join(', ')}, expected a streaming zipformer2 CTC model, SenseVoice or Paraformer`,
    );
  }
  const network = await StreamingNetwork.load(outline, zipformerLayout(outline), options);
  return orRelease([network], () => new StreamingModel(new CtcModel(network, tokens)));
}

async function loadSenseVoice(
  outline: OnnxOutline,
  tokens: TokenTable,
  options: SessionOptions,
): Promise<EngineModel> {
  const layout = senseVoiceLayout(outline);
  const onnx = await loadOnnxModel(outline.path, options);
  return orRelease([onnx], () => new SenseVoiceModel(onnx, layout, tokens));
}

async function loadParaformer(
  outline: OnnxOutline,
  tokens: TokenTable,
  options: SessionOptions,
): Promise<EngineModel> {
  const layout = paraformerLayout(outline);
  const onnx = await loadOnnxModel(outline.path, options);
  return orRelease([onnx], () => new ParaformerModel(onnx, layout, tokens));
}

async function loadTransducer(
  files: Extract<ModelFiles, { kind: 'transducer' }>,
  tokens: TokenTable,
  options: SessionOptions,
): Promise<EngineModel> {
  const encoder = await readOnnxOutline(files.encoder);
  const decoder = await readOnnxOutline(files.decoder);
  const joiner = await readOnnxOutline(files.joiner);
  const layout = zipformerLayout(encoder);
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
    const family = isFirstZipformer(encoder) ? 'zipformer-transducer' : 'zipformer2-transducer';
    const parts = [await load(decoder), await load(joiner)] as const;
    return new StreamingModel(new TransducerModel(family, network, ...parts, tokens));
  });
}

async function loadEncoderDecoder(
  files: Extract<ModelFiles, { kind: 'encoder-decoder' }>,
  tokens: TokenTable,
  options: SessionOptions,
): Promise<EngineModel> {
  const outline = await readOnnxOutline(files.encoder);
  if (isParaformer(outline)) return loadStreamingParaformer(outline, files.decoder, tokens, options);
  if (!isWhisper(outline)) {
    throw new ModelLoadError(
      `${outline.fileName}: found model_type ${modelType(outline)} and no joiner*.onnx, expected a Whisper, a streaming Paraformer or a transducer's three files`,
    );
  }
  const layout = whisperLayout(outline, await readOnnxOutline(files.decoder));
  const simplify = await readSimplify();
  const loaded: OnnxModel[] = [];
  return orRelease(loaded, async () => {
    const load = async (path: string): Promise<OnnxModel> => {
      const onnx = await loadOnnxModel(path, options);
      loaded.push(onnx);
      return onnx;
    };
    const [encoder, decoder] = [await load(files.encoder), await load(files.decoder)];
    return new WhisperModel(outline, layout, encoder, decoder, tokens, simplify);
  });
}

async function loadStreamingParaformer(
  outline: OnnxOutline,
  decoderPath: string,
  tokens: TokenTable,
  options: SessionOptions,
): Promise<EngineModel> {
  const layout = streamingParaformerLayout(outline, await readOnnxOutline(decoderPath));
  const loaded: OnnxModel[] = [];
  return orRelease(loaded, async () => {
    const encoder = await loadOnnxModel(outline.path, options);
    loaded.push(encoder);
    const decoder = await loadOnnxModel(decoderPath, options);
    loaded.push(decoder);
    return new StreamingModel(new StreamingParaformerModel(encoder, decoder, layout, tokens));
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
