import { onFilesChosen } from './controls/file-choice.ts';
import { offerLanguages, wantedTexts } from './controls/language-switch.ts';
import { MicrophoneChoice } from './controls/microphone-choice.ts';
import { RecordButton } from './controls/record-button.ts';
import { TokenField } from './controls/token.ts';
import { Dictation } from './recording/dictation.ts';
import { IDLE, type Now, type Recording } from './recording/now.ts';
import { Failure } from './service/failures.ts';
import { Language } from './texts/language.ts';
import { MAX_FILES } from './texts/texts.ts';
import { adviceOn, isOfToken } from './view/advice.ts';
import { find } from './view/elements.ts';
import { announce, Notice } from './view/notice.ts';
import { nothingIn } from './view/recordings/names.ts';
import { Recordings } from './view/recordings/recordings.ts';
import { ServiceStatus } from './view/service-status.ts';
import { Caption } from './view/stage/caption.ts';
import { Progress, SHORT_MS } from './view/stage/progress.ts';
import { Timer } from './view/stage/timer.ts';

/** Everything on the page, tied together; index.html holds the elements. */
class Page {
  readonly #language: Language;
  readonly #status: ServiceStatus;
  readonly #token = new TokenField((token) => this.#tokenEntered(token));
  readonly #microphone: MicrophoneChoice;
  readonly #notice: Notice;
  readonly #recordings: Recordings;
  /** What shows the page's state. */
  readonly #views: readonly { show(now: Now): void }[];
  #now: Now | undefined;
  readonly #dictation = new Dictation({
    token: () => this.#token.value,
    deviceId: () => this.#microphone.deviceId,
    show: (now) => this.#show(now),
    interrupted: (by) => this.#notice.interrupted(by),
    failed: (failure) => this.#failed(failure),
    recorded: (recording) => this.#recorded(recording),
  });

  constructor(language: Language) {
    this.#language = language;
    this.#status = new ServiceStatus(
      language,
      () => this.#token.accepted(),
      (failure) => this.#failed(failure),
    );
    this.#microphone = new MicrophoneChoice(language);
    this.#notice = new Notice(language, () => this.#dictation.cancel());
    this.#recordings = new Recordings(language, (recording) =>
      this.#begin(() => this.#dictation.tryAgain(recording)),
    );
    const button = new RecordButton(language, {
      state: () => this.#dictation.state,
      start: () => this.#begin(() => this.#dictation.record()),
      stop: () => this.#dictation.stop(),
    });
    const progress = new Progress(language, () => this.#dictation.cancel());
    const [caption, timer] = [new Caption(language), new Timer(language)];
    this.#views = [button, this.#status, timer, progress, caption, this.#notice];
    onFilesChosen((files) => this.#filesChosen(files));
    addEventListener('beforeunload', (event) => {
      if (this.#dictation.state !== 'idle' || this.#recordings.hasAny) event.preventDefault();
    });
    this.#show(IDLE);
    this.#tokenEntered(this.#token.value);
  }

  #filesChosen(files: readonly File[]): void {
    this.#begin(() => {
      const done = this.#dictation.recognizeFiles(files.slice(0, MAX_FILES));
      if (files.length > MAX_FILES) done.then(() => this.#notice.add('tooManyFiles'));
      return done;
    });
  }

  /** Nothing is started without a token: the service would only refuse it. */
  #begin(work: () => Promise<void>): void {
    if (this.#dictation.state !== 'idle') {
      this.#notice.add('notNow');
      return;
    }
    if (this.#token.value === '') {
      this.#failed(new Failure('token_missing'));
      return;
    }
    this.#token.useTyped();
    this.#recordings.makeRoom();
    this.#notice.clear();
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
    // Otherwise a screen reader would find "listening" or "trying again" there when that is over.
    announce('');
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
    const { failure, transcript } = recording;
    if (failure !== undefined && isOfToken(failure)) {
      this.#failed(failure);
      return;
    }
    const { texts } = this.#language;
    if (failure !== undefined) {
      // Its own words are not to stand beside others.
      this.#notice.clear();
      // Otherwise a screen reader would find "listening" there.
      announce('');
      announce(adviceOn(texts, failure, recording.fileName).join(texts.sentenceGap), true);
      this.#checkService(failure);
      return;
    }
    this.#notice.settle();
    this.#status.found('ready');
    const { text, audio_ms } = transcript;
    if (text === '') announce(nothingIn(texts, recording));
    else if (audio_ms > SHORT_MS) announce(texts.longResult);
    else announce(texts.result, false, text);
  }

  #show(now: Now): void {
    const before = this.#now;
    this.#now = now;
    const { state, obstacle } = now;
    if (state !== before?.state) {
      if (state === 'recording') {
        announce(this.#language.texts.listening);
        // By now it may know their names.
        void this.#microphone.list();
      }
      if (state === 'recognizing') this.#notice.settle();
      if (state === 'idle') this.#recordings.showLatest();
      find('button#choose').disabled = state !== 'idle';
    }
    for (const view of this.#views) view.show(now);
    if (obstacle !== undefined && obstacle !== before?.obstacle) this.#checkService(obstacle);
    document.body.dataset['state'] = state;
  }
}

const language = new Language(wantedTexts());
offerLanguages(language);
new Page(language);
