import { wavOf } from '../../client/audio/wav.ts';
import type { Recording } from '../recording/dictation-view.ts';
import type { Language } from '../texts/language.ts';
import { MAX_FILES, type Texts } from '../texts/texts.ts';
import { copyButton } from './copy-button.ts';
import { button, find, make, worded } from './elements.ts';
import { announce } from './notice.ts';
import { Player } from './player.ts';
import { fileTime, nameOf, textOf, timeOf } from './recording-names.ts';
import { recordingRow } from './recording-row.ts';

/** 20 recordings of 15 s are 20 MB: the samples, and the file that is played and saved. */
const KEPT = MAX_FILES;
/** How long a deletion can be taken back. */
const UNDO_MS = 5_000;

interface Item {
  readonly row: HTMLLIElement;
  readonly address: string;
  /** The recording's number in this tab, from 1. It tells recordings of the same name apart. */
  readonly number: number;
  readonly recording: Recording;
  /** Its row says so for a while. */
  deleted: boolean;
}

/**
 * The recordings of this tab, each shown once. The latest one is large, on the stage, while nothing else goes
 * on there. The others are below. A recording is identified by its samples: trying again replaces its row.
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
    const copyAll = copyButton(language, 'copyAll', () => this.#shown.map(textOf).filter(Boolean).join('\n'));
    this.#saveText = make('a', { class: 'quiet' });
    find('div#all').append(copyAll, this.#saveText);
  }

  /** Whether something would be lost with the page. */
  get hasAny(): boolean {
    return this.#shown.some(({ samples }) => samples.length > 0);
  }

  add(recording: Recording): void {
    const { samples } = recording;
    const known = this.#items.get(samples);
    const address = known?.address ?? URL.createObjectURL(new Blob([wavOf(samples)], { type: 'audio/wav' }));
    if (known === undefined) this.#count += 1;
    const number = known?.number ?? this.#count;
    const row = recordingRow(
      this.#language,
      this.#player,
      recording,
      { address, number },
      {
        tryAgain: () => this.#tryAgain(recording),
        remove: () => {
          const item = this.#items.get(samples);
          if (item) this.#delete(item);
        },
      },
    );
    known?.row.remove();
    this.#list.prepend(row);
    this.#items.set(samples, { row, address, number, recording, deleted: false });
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

  get #shown(): Recording[] {
    return [...this.#items.values()].filter(({ deleted }) => !deleted).map(({ recording }) => recording);
  }

  /** Its row makes room for the way back, for a while. */
  #delete(item: Item): void {
    const { row, recording, number } = item;
    this.#player.stop();
    const language = this.#language;
    item.deleted = true;
    const end = setTimeout(() => {
      const hadFocus = row.contains(document.activeElement);
      this.#remove(recording.samples);
      if (hadFocus) find('button#record').focus({ preventScroll: true });
    }, UNDO_MS);
    const undo = button(language, 'undo', () => {
      clearTimeout(end);
      item.deleted = false;
      row.classList.remove('deleted');
      line.remove();
      row.querySelector('button')?.focus();
      this.#changed();
    });
    const removed = (texts: Texts): string => texts.removed(nameOf(texts, recording, number));
    const said = worded('p', { class: 'grown' }, language, removed);
    const line = make('div', { class: 'actions undo' }, said, undo);
    row.classList.add('deleted');
    row.append(line);
    undo.focus({ preventScroll: true });
    announce(removed(language.texts));
    this.#changed();
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
    const said = [...this.#items.values()].filter(
      ({ deleted, recording }) => !deleted && textOf(recording) !== '',
    );
    find('div#all').hidden = said.length === 0;
    const now = fileTime(new Date());
    this.#language.show(this.#saveText, (texts) => {
      const paragraphs = said.map(
        ({ recording, number }) =>
          `${nameOf(texts, recording, number)} ${timeOf(recording.takenAt)}\n${textOf(recording)}\n`,
      );
      this.#saveText.textContent = texts.saveText;
      this.#saveText.download = `${texts.textFileName}-${now}.txt`;
      this.#saveText.href = `data:text/plain;charset=utf-8,${encodeURIComponent(paragraphs.join('\n'))}`;
    });
  }
}
