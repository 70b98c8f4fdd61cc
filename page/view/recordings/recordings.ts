import type { Recording } from '../../recording/now.ts';
import type { Language } from '../../texts/language.ts';
import { KEPT_SOUND_HOURS, MAX_FILES, type Texts } from '../../texts/texts.ts';
import { button, find, make, worded } from '../elements.ts';
import { announce } from '../notice.ts';
import { copyButton } from './copy-button.ts';
import { fileTime, nameOf, timeOf } from './names.ts';
import { Player } from './player.ts';
import { recordingRow } from './row.ts';

const KEPT = MAX_FILES;
/** 350 MB, in a browser that keeps Blobs in memory. The texts of the others stay. */
const KEPT_SOUND_MS = KEPT_SOUND_HOURS * 3_600_000;
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
 * on there. The others are below. A recording is identified by its `takenAt`: trying again replaces its row.
 */
export class Recordings {
  readonly #stage = find('ol#latest');
  readonly #list = find('ol#recordings');
  /** In the order in which they were made. */
  readonly #items = new Map<Date, Item>();
  #count = 0;
  readonly #language: Language;
  readonly #player: Player;
  readonly #saveText: HTMLAnchorElement;
  readonly #tryAgain: (recording: Recording) => void;

  constructor(language: Language, tryAgain: (recording: Recording) => void) {
    this.#language = language;
    this.#player = new Player(language);
    this.#tryAgain = tryAgain;
    const copyAll = copyButton(language, 'copyAll', () =>
      this.#shown
        .map(({ transcript }) => transcript.text)
        .filter(Boolean)
        .join('\n'),
    );
    this.#saveText = make('a', { class: 'quiet' });
    find('div#all').append(copyAll, this.#saveText);
  }

  /** Whether something would be lost with the page. */
  get hasAny(): boolean {
    return this.#shown.some(({ lengthMs, transcript }) => lengthMs > 0 || transcript.text !== '');
  }

  add(recording: Recording): void {
    const known = this.#items.get(recording.takenAt);
    const address = known?.address ?? URL.createObjectURL(recording.wav);
    if (known === undefined) this.#count += 1;
    const number = known?.number ?? this.#count;
    known?.row.remove();
    this.#list.prepend(this.#keep(recording, address, number));
    const [oldest] = this.#items.keys();
    if (this.#items.size > KEPT && oldest !== undefined) this.#remove(oldest);
    this.#dropOldSound();
    this.#changed();
  }

  /** @returns its row */
  #keep(recording: Recording, address: string, number: number): HTMLLIElement {
    const { takenAt } = recording;
    const remove = (): void => {
      const item = this.#items.get(takenAt);
      if (item) this.#delete(item);
    };
    const actions = { tryAgain: () => this.#tryAgain(recording), remove };
    const row = recordingRow(this.#language, this.#player, recording, { address, number }, actions);
    this.#items.set(takenAt, { row, address, number, recording, deleted: false });
    return row;
  }

  /** The latest one's sound is kept in any case. */
  #dropOldSound(): void {
    let soundMs = 0;
    for (const { row, recording, address, number } of [...this.#items.values()].reverse()) {
      const isLatest = soundMs === 0;
      soundMs += recording.lengthMs;
      if (isLatest || recording.lengthMs === 0 || soundMs <= KEPT_SOUND_MS) continue;
      URL.revokeObjectURL(address);
      row.replaceWith(this.#keep({ ...recording, wav: new Blob(), lengthMs: 0 }, address, number));
    }
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
      this.#remove(recording.takenAt);
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

  #remove(takenAt: Date): void {
    const item = this.#items.get(takenAt);
    if (item === undefined) return;
    const onStage = item.row.parentElement === this.#stage;
    item.row.remove();
    URL.revokeObjectURL(item.address);
    this.#items.delete(takenAt);
    if (onStage) this.showLatest();
    this.#changed();
  }

  #changed(): void {
    find('section#history').hidden = this.#items.size === 0;
    const said = [...this.#items.values()].filter(
      ({ deleted, recording }) => !deleted && recording.transcript.text !== '',
    );
    find('div#all').hidden = said.length === 0;
    const now = fileTime(new Date());
    this.#language.show(this.#saveText, (texts) => {
      const paragraphs = said.map(
        ({ recording, number }) =>
          `${nameOf(texts, recording, number)} ${timeOf(recording.takenAt)}\n${recording.transcript.text}\n`,
      );
      this.#saveText.textContent = texts.saveText;
      this.#saveText.download = `${texts.textFileName}-${now}.txt`;
      this.#saveText.href = `data:text/plain;charset=utf-8,${encodeURIComponent(paragraphs.join('\n'))}`;
    });
  }
}
