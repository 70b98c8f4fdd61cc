import { ModelFailure } from './failure.ts';

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
    name === 'tokens.txt' ||
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

/**
 * One graph per part: the int8 one where the archive has both. Not for the transducer's decoder, a table look-up: int8 gains no time
 * there, and sherpa-onnx's own examples use it as float.
 * @param names all files that were unpacked.
 * @returns the graphs that are not needed.
 * @throws ModelFailure when a part of the model is missing or there twice.
 */
export function surplusGraphs(
  names: readonly string[],
  family: 'zipformer2-ctc' | 'zipformer2-transducer',
): readonly string[] {
  const graphs = names.filter((name) => name.endsWith('.onnx'));
  const surplus = graphs.filter((name) => {
    const isInt8 = name.endsWith('.int8.onnx');
    const twin = isInt8 ? name.replace(/\.int8\.onnx$/, '.onnx') : name.replace(/\.onnx$/, '.int8.onnx');
    return graphs.includes(twin) && isInt8 === name.startsWith('decoder');
  });
  const kept = graphs.filter((name) => !surplus.includes(name));
  const parts = family === 'zipformer2-transducer' ? ['encoder', 'decoder', 'joiner'] : [''];
  const whole =
    kept.length === parts.length &&
    parts.every((part) => kept.filter((name) => name.startsWith(part)).length === 1);
  if (!whole || !names.includes('tokens.txt')) {
    const expected = family === 'zipformer2-transducer' ? 'an encoder, a decoder, a joiner' : 'one model';
    throw new ModelFailure(
      `the archive does not hold this model: expected ${expected} (.onnx) and tokens.txt, found ${names.join(', ') || 'no such file'}`,
    );
  }
  return surplus;
}
