import type { Recording } from '../../recording/now.ts';
import type { Language } from '../../texts/language.ts';
import { make } from '../elements.ts';
import { Waveform } from '../waveform.ts';

/** Plays one recording of the tab at a time. */
export class Player {
  readonly #audio = new Audio();
  readonly #language: Language;
  /** Makes the row that plays look silent again. */
  #played = (): void => {};

  constructor(language: Language) {
    this.#language = language;
  }

  stop(): void {
    this.#audio.pause();
  }

  /** A recording's play button and its waveform. @param address of its WAV */
  row({ levels }: Recording, address: string): HTMLElement {
    const canvas = make('canvas', { class: 'wave', 'aria-hidden': 'true' });
    const wave = new Waveform(canvas);
    const button = make('button', { type: 'button', class: 'play' });
    const name = (what: 'play' | 'pause'): void =>
      this.#language.show(button, (texts) => button.setAttribute('aria-label', texts[what]));
    const silent = (): void => {
      wave.show(levels);
      delete button.dataset['playing'];
      name('play');
    };
    silent();
    button.onclick = () => {
      const audio = this.#audio;
      const others = audio.src !== address;
      const playing = !audio.paused;
      audio.pause();
      if (playing && !others) return;
      // With a new source, the events that the old one still owes never come, not even its `pause`.
      this.#played();
      audio.src = address;
      button.dataset['playing'] = '';
      name('pause');
      // At its end a recording pauses, too.
      this.#played = audio.onpause = audio.onerror = silent;
      audio.ontimeupdate = () => wave.show(levels, audio.currentTime / audio.duration);
      audio.play().catch(silent);
    };
    return make('div', { class: 'player' }, button, canvas);
  }
}
