import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { modelFolders } from '../../../models/store/store.ts';

const SPACES_BETWEEN_CHINESE =
  /(?<=[\p{Script=Han}\u3001-\u303f\uff00-\uffef]) +(?=[\p{Script=Han}\u3001-\u303f\uff00-\uffef])/gu;

/**
 * UTF-8 as text. Other bytes are left out, also those of an unfinished character. So are spaces between
 * Chinese characters and at both ends.
 */
export function chineseText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replaceAll('\ufffd', '').replace(SPACES_BETWEEN_CHINESE, '').trim();
}

/** 乾 is 干 (dry) but in 乾隆, 乾坤, 乾安 and 乾元. */
const NOT_KEPT = /乾(?![隆坤安元])|[^乾]/gu;

/** Writes traditional characters as simplified ones, one by one. */
export type Simplify = (text: string) => string;

/**
 * It lies with the bundled model's files, because its licence is there: a line `traditional<TAB>simplified` a
 * character.
 * @throws Error when it cannot be read.
 */
export async function readSimplify(): Promise<Simplify> {
  const lines = (await readFile(join(modelFolders().bundled, 't2s.tsv'), 'utf8')).split('\n');
  const simplified = new Map(lines.map((line) => line.split('\t') as [string, string]));
  // OpenCC's table leaves it as it is; the standard of the mainland has 你 alone.
  simplified.set('妳', '你');
  return (text) => text.replace(NOT_KEPT, (character) => simplified.get(character) ?? character);
}
