import { wavOf } from '../../client/audio/wav.ts';
import type { Recording } from '../recording/dictation.ts';
import { Failure } from '../service/failures.ts';
import type { Language } from '../texts/language.ts';
import type { Word } from '../texts/texts.ts';
import { copyButton } from './copy-button.ts';
import { button, find, make, worded } from './elements.ts';
import { measures } from './measures.ts';
import { Player } from './player.ts';

/** 20 recordings of 15 s are 20 MB: the samples, and the file that is played and saved. */
const KEPT = 20;

interface Item {
  readonly row: HTMLLIElement;
  readonly address: string;
  /** The recording's number in this tab, from 1. It tells recordings of the same name apart. */
  readonly number: number;
  readonly text: string;
}

/**
 * The recordings of this tab, each shown once. The latest one is large, on the stage, while nothing else goes on there. The others are below.
 * A recording is identified by its samples: trying again replaces its row.
 */
export class Recordings {
  readonly #stage = find('ol#latest');
  readonly #list = find('ol#recordings');
  /** In the order in which they were made. */
  readonly #items = new Map<Int16Array, Item>();
  #count = 0;
  readonly #language: Language;
  readonly #player: Player;
  readonly #saveText: HTMLAnchorElement;
  readonly #tryAgain: (recording: Recording) => void;

  constructor(language: Language, tryAgain: (recording: Recording) => void) {
    this.#language = language;
    this.#player = new Player(language);
    this.#tryAgain = tryAgain;
    const copyAll = copyButton(language, 'copyAll', () => this.#text);
    this.#saveText = worded(
      'a',
      { download: 'recordings.txt', class: 'quiet' },
      language,
      (texts) => texts.saveText,
    );
    find('div#all').append(copyAll, this.#saveText);
  }

  add(recording: Recording): void {
    const { samples, outcome } = recording;
    const known = this.#items.get(samples);
    const address = known?.address ?? URL.createObjectURL(new Blob([wavOf(samples)], { type: 'audio/wav' }));
    if (known === undefined) this.#count += 1;
    const number = known?.number ?? this.#count;
    const row = this.#row(recording, address, number);
    known?.row.remove();
    this.#list.prepend(row);
    this.#items.set(samples, { row, address, number, text: outcome instanceof Failure ? '' : outcome.text });
    const [oldest] = this.#items.keys();
    if (this.#items.size > KEPT && oldest !== undefined) this.#remove(oldest);
    this.#changed();
  }

  /** Frees the stage for what begins, and stops the player: a new recording must not hear an old one. */
  makeRoom(): void {
    this.#player.stop();
    this.#list.prepend(...this.#stage.children);
  }

  /** Nothing goes on any more. The latest recording goes to the stage, whatever has become of what was begun. */
  showLatest(): void {
    const [latest] = this.#list.children;
    if (this.#stage.childElementCount === 0 && latest !== undefined) this.#stage.append(latest);
  }

  /** All that was recognized, a line each, in the order in which it was said. */
  get #text(): string {
    const texts = [...this.#items.values()].map(({ text }) => text);
    return texts.filter((text) => text !== '').join('\n');
  }

  #remove(samples: Int16Array): void {
    const item = this.#items.get(samples);
    if (item === undefined) return;
    const onStage = item.row.parentElement === this.#stage;
    item.row.remove();
    URL.revokeObjectURL(item.address);
    this.#items.delete(samples);
    if (onStage) this.showLatest();
    this.#changed();
  }

  #changed(): void {
    find('section#history').hidden = this.#items.size === 0;
    const text = this.#text;
    find('div#all').hidden = text === '';
    this.#saveText.href = `data:text/plain;charset=utf-8,${encodeURIComponent(`${text}\n`)}`;
  }

  #row(recording: Recording, address: string, number: number): HTMLLIElement {
    const { fileName } = recording;
    const language = this.#language;
    const id = `recording-${number}`;
    const name = worded('span', { class: 'name', id }, language, (texts) =>
      [`${number}.`, fileName ?? texts.microphone].join(' '),
    );
    const download = `${(fileName ?? 'recording').replace(/\.[^.]*$/, '')}.wav`;
    const save = worded('a', { href: address, download, class: 'quiet' }, language, (texts) => texts.save);
    const remove = button(language, 'remove', () => {
      this.#player.stop();
      this.#remove(recording.samples);
      find('button#record').focus({ preventScroll: true });
    });
    const { said, figures, act } = this.#outcome(recording);
    const actions = make('div', { class: 'actions' }, ...act, save, remove);
    const facts = make('div', { class: 'actions' }, name, ...figures, actions);
    const row = make('li', {}, said, this.#player.row(recording, address), facts);
    // Each says what it does, in its words of the moment, and to which recording.
    for (const [n, control] of row.querySelectorAll('button, a').entries()) {
      control.id = `${id}-${n}`;
      control.setAttribute('aria-labelledby', `${control.id} ${id}`);
    }
    return row;
  }

  #outcome(recording: Recording): { said: HTMLElement; figures: HTMLElement[]; act: HTMLElement[] } {
    const language = this.#language;
    const { outcome } = recording;
    const none = (word: Word) => worded('p', { class: 'said none' }, language, (texts) => texts[word]);
    if (outcome instanceof Failure) {
      const tryAgain = button(language, 'tryAgain', () => this.#tryAgain(recording));
      return { said: none('notRecognized'), figures: [], act: [tryAgain] };
    }
    const { text } = outcome;
    const figures = [measures(language, outcome)];
    if (text === '') return { said: none('nothingHeard'), figures, act: [] };
    const said = make('p', { class: 'said', lang: 'zh-CN' }, text);
    return { said, figures, act: [copyButton(language, 'copy', () => text)] };
  }
}
