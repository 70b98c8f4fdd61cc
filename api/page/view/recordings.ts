import { wavOf } from '../../client/audio/wav.ts';
import type { Recording } from '../recording/dictation.ts';
import { Failure } from '../service/failures.ts';
import type { Texts } from '../texts/texts.ts';
import { copyButton } from './copy-button.ts';
import { button, find, make } from './elements.ts';
import { measures } from './measures.ts';
import { Waveform } from './waveform.ts';

/** 20 recordings of 15 s are 20 MB: the samples, and the file that is played and saved. */
const KEPT = 20;

interface Item {
  readonly row: HTMLLIElement;
  readonly address: string;
  /** The recording's number in this tab, from 1: it tells it from others of the same name. */
  readonly number: number;
}

/** The recordings of this tab, the latest first. Its samples are what identifies one: trying again replaces its row. */
export class Recordings {
  readonly #section = find('section#history');
  readonly #list = find('ol#recordings');
  readonly #items = new Map<Int16Array, Item>();
  #count = 0;
  readonly #audio = new Audio();
  /** Shows the row that plays as silent again. */
  #played = (): void => {};
  readonly #texts: Texts;
  readonly #tryAgain: (recording: Recording) => void;

  constructor(texts: Texts, tryAgain: (recording: Recording) => void) {
    this.#texts = texts;
    this.#tryAgain = tryAgain;
  }

  add(recording: Recording): void {
    const { samples } = recording;
    const known = this.#items.get(samples);
    const address = known?.address ?? URL.createObjectURL(new Blob([wavOf(samples)], { type: 'audio/wav' }));
    if (known === undefined) this.#count += 1;
    const number = known?.number ?? this.#count;
    const row = this.#row(recording, address, number);
    if (known === undefined) this.#list.prepend(row);
    else known.row.replaceWith(row);
    this.#items.set(samples, { row, address, number });
    this.#section.hidden = false;
    const [oldest] = this.#items;
    if (this.#items.size > KEPT && oldest !== undefined) this.#forget(...oldest);
  }

  /** A new recording must not hear an old one. */
  silence(): void {
    this.#audio.pause();
  }

  #forget(samples: Int16Array, { row, address }: Item): void {
    row.remove();
    URL.revokeObjectURL(address);
    this.#items.delete(samples);
  }

  #row(recording: Recording, address: string, number: number): HTMLLIElement {
    const { outcome } = recording;
    const failed = outcome instanceof Failure;
    const words = failed ? this.#texts.failures[outcome.kind][0] : outcome.text || this.#texts.nothingHeard;
    const text = make('p', { class: failed || outcome.text === '' ? 'said none' : 'said' }, words);
    if (!failed && outcome.text !== '') text.lang = 'zh-CN';
    const name = make(
      'span',
      { class: 'name', id: `recording-${number}` },
      `${number}. ${recording.fileName ?? this.#texts.microphone}`,
    );
    const save = make(
      'a',
      {
        href: address,
        download: `${(recording.fileName ?? 'recording').replace(/\.[^.]*$/, '')}.wav`,
        class: 'quiet',
      },
      this.#texts.save,
    );
    const actions = make('div', { class: 'actions' }, name);
    if (failed) actions.append(button(this.#texts.tryAgain, () => this.#tryAgain(recording)));
    else {
      actions.append(make('dl', { class: 'measures' }, ...measures(this.#texts, outcome)));
      if (outcome.text !== '') {
        actions.append(copyButton(this.#texts, () => outcome.text));
      }
    }
    actions.append(save);
    const row = make('li', {}, this.#player(recording, address), text, actions);
    // Each says what it does, in its words of the moment, and to which recording.
    for (const [n, control] of row.querySelectorAll('button, a').entries()) {
      control.id = `${name.id}-${n}`;
      control.setAttribute('aria-labelledby', `${control.id} ${name.id}`);
    }
    return row;
  }

  #player(recording: Recording, address: string): HTMLElement {
    const canvas = make('canvas', { class: 'wave', 'aria-hidden': 'true' });
    const wave = new Waveform(canvas);
    wave.show(recording.levels);
    const play = make('button', { type: 'button', class: 'play', 'aria-label': this.#texts.play });
    play.onclick = () => {
      const playing = !this.#audio.paused;
      this.#audio.pause();
      if (!playing || this.#audio.src !== address) this.#play(recording, address, play, wave);
    };
    return make('div', { class: 'player' }, play, canvas);
  }

  #play({ levels }: Recording, address: string, play: HTMLButtonElement, wave: Waveform): void {
    const audio = this.#audio;
    // Another source takes back the events that the old one still owes, its `pause` too.
    this.#played();
    audio.src = address;
    play.dataset['playing'] = '';
    play.setAttribute('aria-label', this.#texts.pause);
    const done = (): void => {
      wave.show(levels);
      delete play.dataset['playing'];
      play.setAttribute('aria-label', this.#texts.play);
    };
    // At its end it pauses, too.
    this.#played = audio.onpause = audio.onerror = done;
    audio.ontimeupdate = () => wave.show(levels, audio.currentTime / audio.duration);
    audio.play().catch(done);
  }
}
