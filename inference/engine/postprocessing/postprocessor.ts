import { readSimplify } from '../text/chinese-text.ts';
import type { HotwordCorrector } from './hotword-correction.ts';
import type { Hotword } from './hotword-list.ts';
import type { Judge } from './judge.ts';
import { LanguageCorrector } from './language-correction.ts';
import type { LanguageModel } from './language-model.ts';
import { chineseTypography } from './typography.ts';

/** What the texts of every family go through on their way out. */
export class Postprocessor {
  readonly #language: LanguageCorrector | undefined;
  #hotwords: HotwordCorrector | undefined;

  /** @param model undefined if texts stay as the recognizer gives them. */
  constructor(model?: LanguageModel) {
    this.#language = model && new LanguageCorrector(model);
  }

  /** From now on final texts are corrected by this list. */
  async use(hotwords: readonly Hotword[]): Promise<void> {
    // Its table of readings takes 40 ms and 30 MB, and most services have no list.
    const { HotwordCorrector } = await import('./hotword-correction.ts');
    const simplify = await readSimplify();
    const simplified = hotwords.map(({ phrase, score }) => ({ phrase: simplify(phrase), score }));
    this.#hotwords = new HotwordCorrector(simplified);
  }

  partial(text: string): string {
    return chineseTypography(text);
  }

  /** @param judge of the recording that the text is of. @throws as the judge */
  async final(text: string, judge: Judge | undefined): Promise<string> {
    const likely = (judge && (await this.#language?.corrected(text, judge))) ?? text;
    return chineseTypography((await this.#hotwords?.corrected(likely, judge)) ?? likely);
  }
}
