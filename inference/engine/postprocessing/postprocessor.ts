import type { HotwordCorrector, Judge } from './hotword-correction.ts';
import type { Hotword } from './hotword-list.ts';
import { chineseTypography } from './typography.ts';

/** What the texts of every family go through on their way out. */
export class Postprocessor {
  #corrector: HotwordCorrector | undefined;

  /** From now on final texts are corrected by this list. */
  async use(hotwords: readonly Hotword[]): Promise<void> {
    // Its table of readings takes 40 ms and 30 MB, and most services have no list.
    const { HotwordCorrector } = await import('./hotword-correction.ts');
    this.#corrector = new HotwordCorrector(hotwords);
  }

  partial(text: string): string {
    return chineseTypography(text);
  }

  /** @param judge of the recording that the text is of. @throws as the judge */
  async final(text: string, judge: Judge | undefined): Promise<string> {
    return chineseTypography((await this.#corrector?.corrected(text, judge)) ?? text);
  }
}
