import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelLoadError } from '../../recognizer.ts';
import { errorText } from '../text/error-text.ts';

/** A model folder's files: paths, or what was read from them. */
export type ModelFiles<Graph = string, Tokens = string> = { readonly tokens: Tokens } & (
  | { readonly kind: 'single'; readonly model: Graph }
  | { readonly kind: 'transducer'; readonly encoder: Graph; readonly decoder: Graph; readonly joiner: Graph }
  | { readonly kind: 'encoder-decoder'; readonly encoder: Graph; readonly decoder: Graph }
);

/** Which of two files is taken if a part is there with int8 weights and with others. */
export type Precision = 'int8' | 'full';

const TRANSDUCER_PARTS = ['encoder', 'decoder', 'joiner'] as const;
const TOKENS_FILE = 'tokens.txt';
/** Whisper's archives have the model's name in front: `base-encoder.int8.onnx`, `base-tokens.txt`. */
const WHISPER_PART = /^(.+-)?(encoder|decoder)(\.(int8|fp16))?\.onnx$/;

/**
 * Chooses the files of a folder as the public archives name them. `encoder*.onnx`, `decoder*.onnx` and
 * `joiner*.onnx` make a transducer. Encoder and decoder alone (behind the same name or none) make a Whisper
 * or a streaming Paraformer. Any other `*.onnx` is a single model.
 * @param preferred int8 is the faster one on a processor. The transducer's decoder is so small that full precision is taken.
 */
export async function findModelFiles(folder: string, preferred: Precision = 'int8'): Promise<ModelFiles> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new ModelLoadError(
      `${folder}: cannot be read (${errorText(cause)}), expected a folder with *.onnx and ${TOKENS_FILE}`,
    );
  });
  const models = names.filter((name) => name.endsWith('.onnx') && !name.startsWith('.')).sort();
  const of = (part: string): string[] => models.filter((name) => name.startsWith(part));
  const whisper = of('joiner').length === 0 ? models.map((name) => WHISPER_PART.exec(name)) : [];
  const prefix = whisper.find((match) => match !== null)?.[1] ?? '';
  const tokensFile = `${prefix}${TOKENS_FILE}`;
  if (!names.includes(tokensFile)) {
    throw new ModelLoadError(`${folder}: found ${list(names)}, expected ${tokensFile} among them`);
  }
  const tokens = join(folder, tokensFile);
  const [encoders, decoders] = [of(`${prefix}encoder`), of(`${prefix}decoder`)];
  const hasBothAlone = encoders.length > 0 && decoders.length > 0 && of('joiner').length === 0;
  if (prefix !== '' || hasBothAlone) {
    return {
      kind: 'encoder-decoder',
      encoder: choose(folder, `${prefix}encoder*.onnx`, encoders, preferred),
      decoder: choose(folder, `${prefix}decoder*.onnx`, decoders, preferred),
      tokens,
    };
  }
  if (TRANSDUCER_PARTS.some((part) => of(part).length > 0)) {
    return {
      kind: 'transducer',
      encoder: choose(folder, 'encoder*.onnx', of('encoder'), preferred),
      decoder: choose(folder, 'decoder*.onnx', of('decoder'), 'full'),
      joiner: choose(folder, 'joiner*.onnx', of('joiner'), preferred),
      tokens,
    };
  }
  return { kind: 'single', model: choose(folder, '*.onnx', models, preferred), tokens };
}

function choose(
  folder: string,
  pattern: string,
  candidates: readonly string[],
  preferred: Precision,
): string {
  const int8 = candidates.filter((name) => name.endsWith('.int8.onnx'));
  // icefall's --fp16 writes these beside the other two.
  const half = candidates.filter((name) => name.endsWith('.fp16.onnx'));
  const full = candidates.filter((name) => !/\.(int8|fp16)\.onnx$/.test(name));
  const order = preferred === 'int8' ? [int8, full, half] : [full, half, int8];
  const chosen = order.find((group) => group.length > 0) ?? [];
  const [name, ...others] = chosen;
  if (name === undefined || others.length > 0) {
    throw new ModelLoadError(`${folder}: found ${list(chosen)} for ${pattern}, expected exactly one`);
  }
  return join(folder, name);
}

function list(names: readonly string[]): string {
  if (names.length === 0) return 'nothing';
  const shown = [...names].sort().slice(0, 6).join(', ');
  return names.length > 6 ? `${shown} and ${names.length - 6} more` : shown;
}
