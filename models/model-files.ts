import { ModelFailure } from './failure.ts';
import type { ModelFamily } from './family.ts';

/**
 * Which file of an archive is worth unpacking: graphs, tokens, and what says whose the model is. Example recordings and tokenizer models
 * are not needed to recognise speech.
 * @param path as the archive has it: `<top folder>/<name>` or `<name>`.
 * @returns the file's name, or undefined.
 * @throws ModelFailure for a path that leads out of the archive's own folder.
 */
export function wantedFile(path: string): string | undefined {
  refuseUnsafePath(path);
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  const name = segments.at(-1);
  if (name === undefined || segments.length > 2 || name.startsWith('.')) return undefined;
  return name.endsWith('.onnx') ||
    isTokens(name) ||
    /^(licen[cs]e|copying|notice|readme)(\.[a-z]+)?$/i.test(name)
    ? name
    : undefined;
}

function refuseUnsafePath(path: string): void {
  if (
    path.startsWith('/') ||
    /^[A-Za-z]:/.test(path) ||
    /[\\\0]/.test(path) ||
    path.split('/').includes('..')
  ) {
    throw new ModelFailure(
      `the archive is not used: it has the path ${JSON.stringify(path)}, which leads out of its folder`,
    );
  }
}

/** Whisper archives have the model's size in front: `tiny-tokens.txt`. */
const isTokens = (name: string): boolean => name.endsWith('tokens.txt');

/** What is in the names of a family's graphs; one graph for each. */
const PARTS: Readonly<Record<ModelFamily, readonly string[]>> = {
  'zipformer2-ctc': [''],
  'nemo-ctc': [''],
  'zipformer2-transducer': ['encoder', 'decoder', 'joiner'],
  whisper: ['encoder', 'decoder'],
  'sense-voice': [''],
};

/**
 * One graph per part: the int8 one where the archive has both. Not for the transducer's decoder, a table look-up: int8 gains no time
 * there, and sherpa-onnx's own examples use it as float. On a GPU int8 is no gain: a folder of one's own may have the float graphs.
 * @param names all files that were unpacked.
 * @returns the graphs that are not needed.
 * @throws ModelFailure when a part of the model is missing or there twice.
 */
export function surplusGraphs(names: readonly string[], family: ModelFamily): readonly string[] {
  const graphs = names.filter((name) => name.endsWith('.onnx'));
  const surplus = graphs.filter((name) => {
    const isInt8 = name.endsWith('.int8.onnx');
    const twin = isInt8 ? name.replace(/\.int8\.onnx$/, '.onnx') : name.replace(/\.onnx$/, '.int8.onnx');
    const wantsFloat = family === 'zipformer2-transducer' && name.startsWith('decoder');
    return graphs.includes(twin) && isInt8 === wantsFloat;
  });
  const kept = graphs.filter((name) => !surplus.includes(name));
  const parts = PARTS[family];
  const isWhole =
    kept.length === parts.length &&
    parts.every((part) => kept.filter((name) => name.includes(part)).length === 1) &&
    names.filter(isTokens).length === 1;
  if (!isWhole) {
    const expected = parts.map((part) => (part === '' ? 'one model' : `one ${part}`)).join(', ');
    throw new ModelFailure(
      `the archive does not hold this model: expected ${expected} (.onnx) and tokens.txt, found ${names.join(', ') || 'no such file'}`,
    );
  }
  return surplus;
}
