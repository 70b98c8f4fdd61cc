import { audioMs, MAX_RECORDING_BYTES } from '../../common/audio/limits.ts';
import type { Audio } from '../recording/dictation-view.ts';
import type { Language } from '../texts/language.ts';
import { button, find } from './elements.ts';
import { SLOTS, Waveform } from './waveform.ts';

/** What the service takes at once. */
export const SHORT_MS = audioMs(MAX_RECORDING_BYTES);

type Shown = Pick<Audio, 'fileName' | 'levels' | 'lengthMs'>;

/** The sound that is recorded or recognized now: its bars, and how much of it has its text. */
export class Progress {
  readonly #language: Language;
  readonly #wave = new Waveform(find('canvas#wave'));
  readonly #line = find('p#progress');
  readonly #stop: HTMLButtonElement;
  #audio: Shown | undefined;
  #name = (): string => '';

  /** @param stop gives up what takes long */
  constructor(language: Language, stop: () => void) {
    this.#language = language;
    this.#stop = button(language, 'stopAll', stop);
    this.#stop.hidden = true;
    find('canvas#wave').after(this.#stop);
  }

  /** Of a recording that goes on: the last of it. */
  recorded(levels: readonly number[]): void {
    this.#wave.show(levels.slice(-SLOTS));
  }

  /** @param number the file's among so many */
  recognizing(audio: Shown, number: number, count: number): void {
    const { fileName, lengthMs } = audio;
    this.#audio = audio;
    this.#name = () =>
      fileName === undefined ? '' : this.#language.texts.recognizing(fileName, number, count);
    this.#stop.hidden = count === 1 && lengthMs <= SHORT_MS;
    this.recognized(0);
  }

  recognized(recognizedMs: number): void {
    const { levels, lengthMs } = this.#audio ?? { levels: [], lengthMs: 0 };
    const isLong = lengthMs > SHORT_MS;
    this.#wave.show(levels, isLong ? recognizedMs / lengthMs : 1);
    this.#language.say(this.#line, (texts) =>
      [this.#name(), isLong ? texts.recognized(recognizedMs, lengthMs) : ''].filter(Boolean).join(' · '),
    );
  }

  /** A notice of waiting has its own way to stop. @param isIdle nothing goes on */
  pause(isIdle: boolean): void {
    this.#stop.hidden = true;
    if (!isIdle) return;
    this.#audio = undefined;
    this.#name = () => '';
    this.recognized(0);
  }
}
