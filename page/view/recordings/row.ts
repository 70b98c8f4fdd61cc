import { toSrt } from '../../../client/long/subtitles.ts';
import type { Recording } from '../../recording/now.ts';
import type { Failure } from '../../service/failures.ts';
import type { Language } from '../../texts/language.ts';
import type { Word } from '../../texts/texts.ts';
import { adviceOn, isOfToken } from '../advice.ts';
import { button, make, reachable, worded } from '../elements.ts';
import { copyButton } from './copy-button.ts';
import { measures } from './measures.ts';
import { fileTime, nameOf, nothingIn } from './names.ts';
import type { Player } from './player.ts';

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
  // There is no sound of a file that could not be read, and of recordings of hours only the latest is kept.
  const hasSound = recording.lengthMs > 0;
  const sound = hasSound ? [player.row(recording, address)] : [];
  const save = hasSound ? [saveLink(language, recording, number, 'save', 'wav', address)] : [];
  const subtitles = subtitleLink(language, recording, number);
  const actions = make(
    'div',
    { class: 'actions' },
    ...act,
    ...save,
    ...subtitles,
    button(language, 'remove', remove),
  );
  const facts = make('div', { class: 'actions facts' }, name, ...figures);
  const row = make('li', {}, ...said, ...sound, facts, actions);
  // Each says what it does, in its words of the moment, and to which recording.
  for (const [n, control] of row.querySelectorAll('button, a').entries()) {
    control.id = `${id}-${n}`;
    control.setAttribute('aria-labelledby', `${control.id} ${id}`);
  }
  return row;
}

function saveLink(
  language: Language,
  { fileName, takenAt }: Recording,
  number: number,
  word: Word,
  extension: string,
  href: string,
): HTMLElement {
  const link = make('a', { href, class: 'quiet' });
  language.show(link, (texts) => {
    const name = (fileName ?? texts.microphone).replace(/\.[^.]*$/, '');
    link.textContent = texts[word];
    link.download = `${number}-${name}-${fileTime(takenAt)}.${extension}`;
  });
  return link;
}

/** One cue, of a short recording, nobody needs. */
function subtitleLink(language: Language, recording: Recording, number: number): HTMLElement[] {
  const { text, pieces } = recording.transcript;
  if (text === '' || pieces.length < 2) return [];
  const href = `data:application/x-subrip;charset=utf-8,${encodeURIComponent(toSrt(pieces))}`;
  return [saveLink(language, recording, number, 'saveSubtitles', 'srt', href)];
}

interface Shown {
  readonly said: HTMLElement[];
  readonly figures: HTMLElement[];
  readonly act: HTMLElement[];
}

function outcomeOf(language: Language, recording: Recording, tryAgain: () => void): Shown {
  const { transcript, failure, lengthMs, fileName, finalizeMs } = recording;
  const { text, audio_ms, inference_ms } = transcript;
  const spoken = text === '' ? [] : [spokenText(text)];
  const copy = text === '' ? [] : [copyButton(language, 'copy', () => text)];
  if (failure === undefined) {
    const none = () => worded('p', { class: 'said none' }, language, (texts) => nothingIn(texts, recording));
    // Of a live text the service does not tell how long the model has worked.
    const worked = finalizeMs === undefined ? { inference_ms } : { finalize_ms: finalizeMs };
    const figures = [measures(language, { audio_ms, ...worked })];
    return { said: text === '' ? [none()] : spoken, figures, act: copy };
  }
  const again = lengthMs > 0 ? [button(language, 'tryAgain', tryAgain)] : [];
  return { said: [...spoken, problem(language, failure, fileName)], figures: [], act: [...again, ...copy] };
}

/** Why it has no text, or not all of it. */
function problem(language: Language, failure: Failure, fileName: string | undefined): HTMLElement {
  if (isOfToken(failure))
    return worded('p', { class: 'said none' }, language, (texts) => texts.notRecognized);
  const part = (n: 0 | 1, attributes = {}) =>
    worded('span', attributes, language, (texts) => adviceOn(texts, failure, fileName)[n]);
  const gap = worded('span', {}, language, ({ sentenceGap }) => sentenceGap);
  const attributes = { class: 'said none', 'data-kind': failure.kind, title: failure.detail };
  const said = make('div', attributes, part(0, { class: 'what' }), gap, part(1));
  if (failure.kind === 'unexpected') said.append(make('p', { class: 'detail' }, failure.detail));
  return said;
}

function spokenText(text: string): HTMLElement {
  const said = make('p', { class: 'said', lang: 'zh-CN' }, text);
  reachable(said, text);
  return said;
}
