import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelLoadError } from '../../recognizer.ts';
import { errorText } from '../error-text.ts';

/** Paths of a model folder's files. */
export type ModelFiles =
  | { readonly kind: 'single'; readonly model: string; readonly tokens: string }
  | {
      readonly kind: 'transducer';
      readonly encoder: string;
      readonly decoder: string;
      readonly joiner: string;
      readonly tokens: string;
    };

const TRANSDUCER_PARTS = ['encoder', 'decoder', 'joiner'] as const;
const TOKENS_FILE = 'tokens.txt';

/**
 * Chooses the files of a folder as the public archives name them: `encoder*.onnx`, `decoder*.onnx` and `joiner*.onnx`
 * make a transducer, any other `*.onnx` a single model. Where a part is there both as `*.int8.onnx` and not, int8 is
 * taken, as it is the faster one; the transducer's decoder is so small that full precision is taken.
 */
export async function findModelFiles(folder: string): Promise<ModelFiles> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new ModelLoadError(
      `${folder}: cannot be read (${errorText(cause)}), expected a folder with *.onnx and ${TOKENS_FILE}`,
    );
  });
  const models = names.filter((name) => name.endsWith('.onnx') && !name.startsWith('.')).sort();
  if (!names.includes(TOKENS_FILE)) {
    throw new ModelLoadError(`${folder}: found ${list(names)}, expected ${TOKENS_FILE} among them`);
  }
  const tokens = join(folder, TOKENS_FILE);
  const of = (part: string): string[] => models.filter((name) => name.startsWith(part));
  if (TRANSDUCER_PARTS.some((part) => of(part).length > 0)) {
    return {
      kind: 'transducer',
      encoder: choose(folder, 'encoder*.onnx', of('encoder'), 'int8'),
      decoder: choose(folder, 'decoder*.onnx', of('decoder'), 'full'),
      joiner: choose(folder, 'joiner*.onnx', of('joiner'), 'int8'),
      tokens,
    };
  }
  return { kind: 'single', model: choose(folder, '*.onnx', models, 'int8'), tokens };
}

function choose(
  folder: string,
  pattern: string,
  candidates: readonly string[],
  preferred: 'int8' | 'full',
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
