import { CHUNK_BYTES } from '../../../common/audio/limits.ts';
import { quoted } from '../../../common/errors/printable.ts';
import { type ModelInfo, ModelLoadError } from '../../recognizer.ts';
import { findModelFiles, type Precision } from '../onnx/model-files.ts';
import { type OnnxOutline, readOnnxOutline } from '../onnx/onnx-reader.ts';
import { type SessionOptions, usesOnlyCpu } from '../onnx/onnx-session.ts';
import type { EngineModel } from '../recording/engine-model.ts';
import { errorText } from '../text/error-text.ts';
import { readTokenTable } from '../text/tokens.ts';
import { FAMILIES } from './families.ts';
import type { ModelFolder } from './family.ts';
import { GraphLoader } from './graph-loader.ts';

const WARM_UP_BYTES = CHUNK_BYTES;
/** An input of NeMo's streaming exports. */
const NEMO_STATE = 'cache_last_channel';

export interface LoadedModel {
  readonly model: EngineModel;
  readonly info: Omit<ModelInfo, 'id' | 'threads' | 'loadMs'>;
  /** Frees its graphs. */
  release(): Promise<void>;
}

/**
 * Loads a model folder and runs it once on silence, so that a recording never pays for the first run.
 * @throws ModelLoadError when the files cannot be used, in one line: file, found, expected.
 */
export async function loadModel(folder: string, options: SessionOptions): Promise<LoadedModel> {
  const files = await readModelFolder(folder, usesOnlyCpu(options) ? 'int8' : 'full');
  const family = FAMILIES.find((each) => each.kind === files.kind && each.matches(files));
  if (family === undefined) throw unknownFamily(files);
  const graphs = new GraphLoader(forPrecision(mainGraph(files), options));
  try {
    const model = await family.load(files, graphs);
    await warmUp(model, folder);
    const { name, isReDecoding } = family;
    const info = { family: name, isReDecoding, ...model.info };
    return { model, info, release: () => graphs.release() };
  } catch (cause) {
    await graphs.release();
    throw cause;
  }
}

async function readModelFolder(folder: string, preferred: Precision): Promise<ModelFolder> {
  const files = await findModelFiles(folder, preferred);
  const tokens = await readTokenTable(files.tokens);
  if (files.kind === 'single') return { ...files, tokens, model: await readOnnxOutline(files.model) };
  const encoder = await readOnnxOutline(files.encoder);
  const decoder = await readOnnxOutline(files.decoder);
  if (files.kind === 'encoder-decoder') return { ...files, tokens, encoder, decoder };
  return { ...files, tokens, encoder, decoder, joiner: await readOnnxOutline(files.joiner) };
}

/** The one that tells the family. */
function mainGraph(files: ModelFolder): OnnxOutline {
  return files.kind === 'single' ? files.model : files.encoder;
}

/** CUDA cannot multiply matrices of dynamic int8: at each such product, a model would go to the card and back. */
function forPrecision({ path, fileName }: OnnxOutline, options: SessionOptions): SessionOptions {
  if (options.providers !== 'auto' || usesOnlyCpu(options) || !path.endsWith('.int8.onnx')) return options;
  options.log(`${fileName} is the only file of its kind and int8, which CUDA does not run: using cpu`);
  return { ...options, providers: ['cpu'] };
}

async function warmUp(model: EngineModel, folder: string): Promise<void> {
  const silence = new Uint8Array(WARM_UP_BYTES);
  try {
    await (model.warmUp?.() ?? model.open(new AbortController().signal).finish(silence));
  } catch (cause) {
    const reason = errorText(cause);
    throw new ModelLoadError(`${folder}: a run on silence failed (${reason}), expected a model that runs`, {
      cause,
    });
  }
}

function unknownFamily(files: ModelFolder): ModelLoadError {
  const { fileName, inputs, metadata } = mainGraph(files);
  if (inputs.some(({ name }) => name === NEMO_STATE)) {
    return new ModelLoadError(
      `${fileName}: found a NeMo model, which is not supported any more since November 2026; npm run models -- list shows other models`,
    );
  }
  const type = metadata.text('model_type');
  const names = inputs.slice(0, 3).map(({ name }) => quoted(name));
  const more = {
    single: ` and inputs ${names.join(', ')}`,
    'encoder-decoder': ' and no joiner*.onnx',
    transducer: '',
  }[files.kind];
  const expected = FAMILIES.filter(({ kind }) => kind === files.kind).map(({ name }) => name);
  if (files.kind === 'encoder-decoder') expected.push("a transducer's three files");
  const list = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(expected);
  return new ModelLoadError(
    `${fileName}: found model_type ${type === undefined ? '(none)' : quoted(type)}${more}, expected ${list}`,
  );
}
