import { audioMs, MAX_RECORDING_BYTES } from '../common/audio/limits.ts';
import { onFileChosen } from './controls/file-choice.ts';
import { offerLanguages, wantedTexts } from './controls/language-switch.ts';
import { MicrophoneChoice } from './controls/microphone-choice.ts';
import { RecordButton } from './controls/record-button.ts';
import { TokenField } from './controls/token.ts';
import { Dictation, type Recording } from './recording/dictation.ts';
import { asFailure, Failure } from './service/failures.ts';
import { Language } from './texts/language.ts';
import type { DictationState } from './texts/texts.ts';
import { find } from './view/elements.ts';
import { announce, Notice } from './view/notice.ts';
import { Recordings } from './view/recordings.ts';
import { ServiceStatus } from './view/service-status.ts';
import { Transcript } from './view/transcript.ts';
import { Waveform } from './view/waveform.ts';

const MAX_RECORDING_MS = audioMs(MAX_RECORDING_BYTES);
const WARN_AT_SECONDS_LEFT = 5;

/** Everything on the page, tied together; index.html holds the elements. */
class Page {
  readonly #language: Language;
  readonly #status: ServiceStatus;
  readonly #token = new TokenField((token) => this.#tokenEntered(token));
  readonly #microphone: MicrophoneChoice;
  readonly #notice: Notice;
  readonly #transcript: Transcript;
  readonly #recordings: Recordings;
  readonly #wave = new Waveform(find('canvas#wave'));
  readonly #left = find('span#left');
  #secondsLeft = 0;
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
    () => this.#microphone.deviceId,
  );
  readonly #button: RecordButton;

  constructor(language: Language) {
    this.#language = language;
    this.#status = new ServiceStatus(
      language,
      () => this.#token.accepted(),
      (failure) => this.#failed(failure),
    );
    this.#microphone = new MicrophoneChoice(language);
    this.#notice = new Notice(language, () => this.#dictation.cancel());
    this.#transcript = new Transcript(language);
    this.#recordings = new Recordings(language, (recording) =>
      this.#begin(() => this.#dictation.tryAgain(recording)),
    );
    this.#button = new RecordButton(language, {
      state: () => this.#dictation.state,
      start: () => this.#begin(() => this.#dictation.record()),
      stop: () => this.#dictation.stop(),
    });
    onFileChosen((file) => this.#begin(() => this.#dictation.recognizeFile(file)));
    this.#stateChanged('idle');
    this.#tokenEntered(this.#token.value);
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
    this.#recordings.makeRoom();
    this.#notice.hide();
    // Otherwise a screen reader would find the last result there beside what follows.
    announce('');
    void work().then(() => {
      // Whoever pressed a button that is gone by now goes on with the keyboard from here.
      if (document.activeElement === document.body) find('button#record').focus({ preventScroll: true });
    });
  }

  #tokenEntered(token: string): void {
    if (this.#dictation.state === 'idle') this.#notice.hide();
    if (token === '') {
      this.#status.stop();
      this.#token.ask();
      return;
    }
    this.#status.follow(token);
  }

  #failed(failure: Failure): void {
    // Otherwise a screen reader would find "listening" or "trying again" there when that is over. After a lost microphone, the recording's text stays there.
    if (failure.kind !== 'microphone_lost') announce('');
    if (failure.kind === 'unauthorized' || failure.kind === 'token_missing') {
      this.#status.stop();
      this.#token.ask();
    }
    // Only now: the notice may stand in the token's form, which must be shown before anything there can be scrolled to.
    this.#notice.failed(failure);
    this.#checkService(failure);
  }

  /** If the failure may come from the service's state, that state is looked at again. */
  #checkService({ kind }: Failure): void {
    if (['busy', 'not_ready', 'connection_lost', 'stream_refused', 'cancelled'].includes(kind))
      this.#status.look(this.#token.value);
  }

  #recorded(recording: Recording): void {
    this.#recordings.add(recording);
    const { outcome } = recording;
    if (outcome instanceof Failure) {
      this.#failed(outcome);
      return;
    }
    this.#notice.hide();
    this.#status.show('ready');
    const { nothingHeard, result } = this.#language.texts;
    announce(outcome.text === '' ? nothingHeard : result, false, outcome.text);
  }

  #stateChanged(state: DictationState): void {
    this.#button.show(state);
    this.#status.working(state === 'recording' || state === 'recognizing');
    document.body.dataset['state'] = state;
    if (state === 'recording') {
      this.#transcript.wait(({ listening }) => listening);
      announce(this.#language.texts.listening);
      // By now it may know their names.
      void this.#microphone.list();
    } else {
      this.#button.loudness(0);
    }
    if (state === 'recognizing') {
      // The button says that it is being recognized; nobody needs to keep speaking.
      this.#transcript.wait(() => '');
      this.#notice.hide();
    }
    if (state === 'idle') {
      this.#transcript.clear();
      this.#progress([], 0);
      this.#recordings.showLatest();
    }
    find('button#choose').disabled = state !== 'idle';
  }

  #progress(levels: readonly number[], recordedMs: number): void {
    const level = levels.at(-1) ?? 0;
    const leftMs = MAX_RECORDING_MS - recordedMs;
    this.#wave.show(levels);
    this.#button.loudness(level);
    this.#language.say(this.#left, ({ seconds }) => seconds(leftMs));
    const secondsLeft = Math.ceil(leftMs / 1000);
    if (this.#secondsLeft === secondsLeft) return;
    this.#secondsLeft = secondsLeft;
    const { left, limitReached } = this.#language.texts;
    if (secondsLeft === WARN_AT_SECONDS_LEFT) announce(left(secondsLeft));
    if (secondsLeft === 0) announce(limitReached);
  }
}

const language = new Language(wantedTexts());
offerLanguages(language);
new Page(language);
