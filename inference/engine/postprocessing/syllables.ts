import { pinyin } from 'pinyin-pro';

/** How a character sounds, without its tone. */
export interface Syllable {
  readonly character: string;
  readonly final: string;
  /** Initial and final, each without what speakers and recognizers mix up: zh z, ch c, sh s; n l r; f h; -n -ng. */
  readonly initialClass: string;
  readonly finalClass: string;
}

/** How far two syllables are apart. */
export type Distance = 'near' | 'half' | 'other';

const PARTS = /^([zcs]h?|[bpmfdtnlgkhjqxryw]?)(.*)$/;
const INITIAL_CLASS: Readonly<Record<string, string>> = { zh: 'z', ch: 'c', sh: 's', l: 'n', r: 'n', h: 'f' };

/**
 * @param text Chinese characters alone.
 * @returns one for each; those with several readings have the one that fits their neighbours
 */
export function syllablesOf(text: string): Syllable[] {
  const readings = pinyin(text, { type: 'array', toneType: 'none', v: true });
  return Array.from(text, (character, i) => {
    const [, initial = '', final = ''] = PARTS.exec(readings[i] ?? '') ?? [];
    return {
      character,
      final,
      initialClass: INITIAL_CLASS[initial] ?? initial,
      finalClass: final.replace(/ng$/, 'n'),
    };
  });
}

export function distance(a: Syllable, b: Syllable): Distance {
  const [sameInitial, sameFinal] = [a.initialClass === b.initialClass, a.finalClass === b.finalClass];
  if (a.character === b.character || (sameInitial && sameFinal)) return 'near';
  return sameInitial || a.final === b.final ? 'half' : 'other';
}
