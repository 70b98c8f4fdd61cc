import { audioMs, MAX_RECORDING_BYTES, MAX_RECORDING_SAMPLES } from '../../common/audio/limits.ts';
import { FRAME_SAMPLES } from '../client/audio/frames.ts';
import { onFileChosen } from './controls/file-choice.ts';
import { RecordButton } from './controls/record-button.ts';
import { TokenField } from './controls/token.ts';
import { Dictation, type Recording } from './recording/dictation.ts';
import { asFailure, Failure } from './service/failures.ts';
import { textsFor } from './texts/language.ts';
import type { DictationState, Label, Texts } from './texts/texts.ts';
import { copyButton } from './view/copy-button.ts';
import { find } from './view/elements.ts';
import { measures } from './view/measures.ts';
import { announce, Notice } from './view/notice.ts';
import { Recordings } from './view/recordings.ts';
import { ServiceStatus } from './view/service-status.ts';
import { Transcript } from './view/transcript.ts';
import { Waveform } from './view/waveform.ts';

const MAX_RECORDING_MS = audioMs(MAX_RECORDING_BYTES);
const FRAMES_PER_RECORDING = MAX_RECORDING_SAMPLES / FRAME_SAMPLES;
const WARN_AT_SECONDS_LEFT = 5;

/** Everything on the page, tied together; index.html holds the elements. */
class Page {
  readonly #texts: Texts;
  readonly #status: ServiceStatus;
  readonly #token = new TokenField((token) => this.#checkToken(token));
  readonly #notice: Notice;
  readonly #transcript: Transcript;
  readonly #recordings: Recordings;
  readonly #wave = new Waveform(find('canvas#wave'), FRAMES_PER_RECORDING);
  readonly #measures = find('dl#measures');
  readonly #left = find('span#left');
  readonly #copy: HTMLButtonElement;
  readonly #dictation = new Dictation(
    {
      state: (state) => this.#stateChanged(state),
      progress: (levels, recordedMs) => this.#progress(levels, recordedMs),
      partial: (text) => this.#transcript.partial(text),
      liveTextLost: (failure) => {
        this.#notice.keepSpeaking(failure);
        this.#checkService(failure);
      },
      waiting: (retry) => {
        this.#notice.waiting(retry);
        this.#checkService(asFailure(retry.error));
      },
      failed: (failure) => this.#failed(failure),
      recorded: (recording) => this.#recorded(recording),
    },
    () => this.#token.value,
  );
  readonly #button: RecordButton;

  constructor(texts: Texts) {
    this.#texts = texts;
    this.#status = new ServiceStatus(texts);
    this.#notice = new Notice(texts, () => this.#dictation.cancel());
    this.#transcript = new Transcript(texts);
    this.#recordings = new Recordings(texts, (recording) =>
      this.#begin(() => this.#dictation.tryAgain(recording)),
    );
    this.#copy = copyButton(texts, () => this.#transcript.text);
    this.#button = new RecordButton(texts, {
      state: () => this.#dictation.state,
      start: () => this.#begin(() => this.#dictation.record()),
      stop: () => this.#dictation.stop(),
    });
    onFileChosen((file) => this.#begin(() => this.#dictation.recognizeFile(file)));
    this.#copy.hidden = true;
    this.#measures.after(this.#copy);
    this.#stateChanged('idle');
    this.#checkToken(this.#token.value);
  }

  /** Nothing is started without a token: the service would only refuse it. */
  #begin(work: () => Promise<void>): void {
    if (this.#dictation.state !== 'idle') {
      this.#notice.notNow();
      return;
    }
    if (this.#token.value === '') {
      this.#failed(new Failure('token_missing'));
      return;
    }
    this.#recordings.silence();
    this.#notice.hide();
    // Otherwise a screen reader would find the last result there beside what follows.
    announce('');
    this.#measures.replaceChildren();
    this.#copy.hidden = true;
    this.#transcript.clear();
    this.#progress([], 0);
    void work().then(() => {
      // Whoever pressed a button that is gone by now goes on with the keyboard from here.
      if (document.activeElement === document.body) find('button#record').focus({ preventScroll: true });
    });
  }

  #checkToken(token: string): void {
    if (this.#dictation.state === 'idle') this.#notice.hide();
    if (token === '') {
      this.#status.stop();
      this.#token.ask();
      return;
    }
    this.#status.watch(
      token,
      () => this.#token.accepted(),
      (failure) => this.#failed(failure),
    );
  }

  #failed(failure: Failure): void {
    // What was said before the microphone went away has its text.
    if (failure.kind !== 'microphone_lost') {
      this.#transcript.clear();
      // Otherwise a screen reader would find "listening" or "trying again" there when that is over.
      announce('');
    }
    if (failure.kind === 'unauthorized' || failure.kind === 'token_missing') {
      this.#status.stop();
      this.#token.ask();
    }
    // After its form, which it may stand in, is there to be scrolled to.
    this.#notice.failed(failure);
    this.#checkService(failure);
  }

  /** Where the failure may be the service's state, it is shown and followed until it is ready again. */
  #checkService({ kind }: Failure): void {
    if (['not_ready', 'connection_lost', 'stream_refused', 'cancelled'].includes(kind))
      this.#status.watch(this.#token.value);
  }

  #recorded(recording: Recording): void {
    this.#recordings.add(recording);
    this.#wave.show(recording.levels);
    const { outcome } = recording;
    if (outcome instanceof Failure) {
      this.#failed(outcome);
      return;
    }
    this.#notice.hide();
    this.#status.show('ready');
    this.#transcript.final(outcome.text);
    this.#measures.replaceChildren(...measures(this.#texts, outcome));
    this.#copy.hidden = outcome.text === '';
    announce(outcome.text === '' ? this.#texts.nothingHeard : this.#texts.result, false, outcome.text);
  }

  #stateChanged(state: DictationState): void {
    this.#button.show(state);
    document.body.dataset['state'] = state;
    if (state === 'recording') {
      this.#transcript.wait(this.#texts.listening);
      announce(this.#texts.listening);
    } else {
      this.#button.loudness(0);
    }
    if (state === 'recognizing') {
      // The button says that it is being recognized; nobody needs to keep speaking.
      this.#transcript.wait('');
      this.#notice.hide();
    }
    if (state === 'idle') this.#left.textContent = String(MAX_RECORDING_MS / 1000);
    find('button#choose').disabled = state !== 'idle';
  }

  #progress(levels: readonly number[], recordedMs: number): void {
    const level = levels.at(-1) ?? 0;
    this.#wave.show(levels);
    this.#button.loudness(level);
    const secondsLeft = Math.ceil((MAX_RECORDING_MS - recordedMs) / 1000);
    if (this.#left.textContent === String(secondsLeft)) return;
    this.#left.textContent = String(secondsLeft);
    if (secondsLeft === WARN_AT_SECONDS_LEFT) announce(this.#texts.left(secondsLeft));
    if (secondsLeft === 0) announce(this.#texts.limitReached);
  }
}

function translate({ lang, labels, level }: Texts): void {
  document.documentElement.lang = lang;
  find('meter#level').setAttribute('aria-label', level);
  if (labels === undefined) return;
  const isLabel = (key: string): key is Label => key in labels;
  for (const element of document.querySelectorAll('[data-text]')) {
    const key = element.getAttribute('data-text') ?? '';
    if (isLabel(key)) element.textContent = labels[key];
  }
}

const texts = await textsFor(navigator.languages);
translate(texts);
new Page(texts);
