/**
 * Which file of an archive is worth unpacking: graphs, tokens, and what says whose the model is. Example
 * recordings and tokenizer models are not needed to recognise speech.
 * @param path as the archive has it: `<top folder>/<name>` or `<name>`.
 * @returns the file's name, or undefined.
 */
export function wantedFile(path: string): string | undefined {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  const name = segments.at(-1);
  if (name === undefined || segments.length > 2 || name.startsWith('.')) return undefined;
  // Whisper archives have the model's size in front: `tiny-tokens.txt`.
  return /(\.onnx|tokens\.txt)$/.test(name) || /^(licen[cs]e|copying|notice|readme)(\.[a-z]+)?$/i.test(name)
    ? name
    : undefined;
}

/**
 * Leaves one graph per part: the int8 one if the archive has both. The transducer's decoder stays float: it
 * is a table look-up, where int8 gains no time, and sherpa-onnx's own examples use it as float. On a GPU int8
 * is no gain: a folder of one's own may have the float graphs.
 * @param names all files that were unpacked.
 * @returns the graphs that are not needed.
 */
export function surplusGraphs(names: readonly string[], family: string): readonly string[] {
  return names.filter((name) => {
    const isInt8 = name.endsWith('.int8.onnx');
    const twin = isInt8 ? name.replace(/\.int8\.onnx$/, '.onnx') : name.replace(/\.onnx$/, '.int8.onnx');
    const wantsFloat = family.endsWith('-transducer') && name.startsWith('decoder');
    return name !== twin && names.includes(twin) && isInt8 === wantsFloat;
  });
}

/**
 * @param names the files of a folder that somebody has named as a model.
 * @returns why none of the forms that are read is among them; undefined if one may be.
 */
export function strangeForm(names: readonly string[]): string | undefined {
  const hasTokens = names.some((name) => name.endsWith('tokens.txt'));
  if (hasTokens && names.some((name) => name.endsWith('.onnx'))) return undefined;
  if (!hasTokens && names.includes('am.mvn'))
    return "it is FunASR's own form (am.mvn, no tokens.txt). The form that sherpa-onnx publishes is read, *.onnx with tokens.txt: npm run models -- list names such models, and docs/models.md where Paraformer is";
  return 'give a folder with *.onnx and tokens.txt, as docs/models.md shows';
}
