import type { Recording } from '../recording/dictation-view.ts';
import { Failure } from '../service/failures.ts';
import type { Language } from '../texts/language.ts';
import type { Texts } from '../texts/texts.ts';
import { adviceOn, isOfToken } from './advice.ts';
import { copyButton } from './copy-button.ts';
import { button, make, worded } from './elements.ts';
import { measures } from './measures.ts';
import type { Player } from './player.ts';
import { fileTime, nameOf, nothingIn } from './recording-names.ts';

interface RowActions {
  tryAgain(): void;
  remove(): void;
}

/** One recording: its text or what went wrong, its sound, and what can be done with it. */
export function recordingRow(
  language: Language,
  player: Player,
  recording: Recording,
  { address, number }: { readonly address: string; readonly number: number },
  { tryAgain, remove }: RowActions,
): HTMLLIElement {
  const id = `recording-${number}`;
  const name = worded('span', { class: 'name', id }, language, (texts) => nameOf(texts, recording, number));
  const { said, figures, act } = outcomeOf(language, recording, tryAgain);
  // There is no sound of a file that could not be read.
  const isRead = recording.samples.length > 0;
  const sound = isRead ? [player.row(recording, address)] : [];
  const save = isRead ? [saveLink(language, recording, address, number)] : [];
  const actions = make('div', { class: 'actions' }, ...act, ...save, button(language, 'remove', remove));
  const facts = make('div', { class: 'actions facts' }, name, ...figures);
  const row = make('li', {}, said, ...sound, facts, actions);
  // Each says what it does, in its words of the moment, and to which recording.
  for (const [n, control] of row.querySelectorAll('button, a').entries()) {
    control.id = `${id}-${n}`;
    control.setAttribute('aria-labelledby', `${control.id} ${id}`);
  }
  return row;
}

function saveLink(language: Language, recording: Recording, address: string, number: number): HTMLElement {
  const link = make('a', { href: address, class: 'quiet' });
  language.show(link, ({ save, microphone }) => {
    const name = (recording.fileName ?? microphone).replace(/\.[^.]*$/, '');
    link.textContent = save;
    link.download = `${number}-${name}-${fileTime(recording.takenAt)}.wav`;
  });
  return link;
}

interface Outcome {
  readonly said: HTMLElement;
  readonly figures: HTMLElement[];
  readonly act: HTMLElement[];
}

function outcomeOf(language: Language, recording: Recording, tryAgain: () => void): Outcome {
  const { outcome, samples, fileName } = recording;
  const none = (words: (texts: Texts) => string) => worded('p', { class: 'said none' }, language, words);
  if (outcome instanceof Failure) {
    const act = samples.length > 0 ? [button(language, 'tryAgain', tryAgain)] : [];
    if (isOfToken(outcome)) return { said: none((texts) => texts.notRecognized), figures: [], act };
    const part = (n: 0 | 1, attributes = {}) =>
      worded('span', attributes, language, (texts) => adviceOn(texts, outcome, fileName)[n]);
    const gap = worded('span', {}, language, ({ sentenceGap }) => sentenceGap);
    const attributes = { class: 'said none', 'data-kind': outcome.kind, title: outcome.detail };
    const said = make('div', attributes, part(0, { class: 'what' }), gap, part(1));
    if (outcome.kind === 'unexpected') said.append(make('p', { class: 'detail' }, outcome.detail));
    return { said, figures: [], act };
  }
  const { text } = outcome;
  const figures = [measures(language, outcome)];
  if (text === '') return { said: none((texts) => nothingIn(texts, recording)), figures, act: [] };
  const said = make('p', { class: 'said', lang: 'zh-CN' }, text);
  return { said, figures, act: [copyButton(language, 'copy', () => text)] };
}
