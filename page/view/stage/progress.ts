import { audioMs, MAX_RECORDING_BYTES } from '../../../common/audio/limits.ts';
import { isAtWork, type Now } from '../../recording/now.ts';
import type { Language } from '../../texts/language.ts';
import { button, find } from '../elements.ts';
import { SLOTS, Waveform } from '../waveform.ts';

/** What the service takes at once. */
export const SHORT_MS = audioMs(MAX_RECORDING_BYTES);

/** The sound that is recorded or recognized now: its bars, and how much of it has its text. */
export class Progress {
  readonly #language: Language;
  readonly #wave = new Waveform(find('canvas#wave'));
  readonly #line = find('p#progress');
  readonly #stop: HTMLButtonElement;

  /** @param stop gives up what takes long */
  constructor(language: Language, stop: () => void) {
    this.#language = language;
    this.#stop = button(language, 'stopAll', stop);
    find('canvas#wave').after(this.#stop);
  }

  show(now: Now): void {
    const { fileName, levels, lengthMs } = now.sound;
    const isLong = isAtWork(now) && lengthMs > SHORT_MS;
    // A notice of waiting has its own way to stop.
    this.#stop.hidden = now.state !== 'recognizing' || (now.place[1] === 1 && !isLong);
    // Of a recording that goes on: the last of it.
    if (isLong) this.#wave.show(levels, now.recognizedMs / lengthMs);
    else this.#wave.show(levels.slice(-SLOTS));
    this.#language.say(this.#line, (texts) => {
      const name = fileName === undefined ? '' : texts.recognizing(fileName, ...now.place);
      return [name, isLong ? texts.recognized(now.recognizedMs, lengthMs) : ''].filter(Boolean).join(' · ');
    });
  }
}
