import { type ReadyAudio, readAudioFile } from './audio-file.ts';
import { type Waiting, withRetries } from './backoff.ts';
import { asFailure, Failure } from './failures.ts';
import { type LiveRecognition, recognizeLive } from './live-recognition.ts';
import { type Capture, type CaptureEnd, openMicrophone } from './microphone.ts';
import { durationMs, level, type Pcm, wavFile } from './pcm.ts';
import { readiness, transcribe, type UploadResult } from './service.ts';
import { type FinalResult, StreamSession } from './stream-session.ts';

/** No syllable is this short: the button was tapped twice by mistake. */
const MIN_RECORDING_MS = 200;

export type DictationState = 'idle' | 'opening' | 'recording' | 'recognizing';

const NEXT: Readonly<Record<DictationState, readonly DictationState[]>> = {
  idle: ['opening', 'recognizing'],
  opening: ['recording', 'idle'],
  recording: ['recognizing', 'idle'],
  recognizing: ['idle'],
};

/** One recording of this tab; `outcome` is the latest attempt's. */
export interface Recording extends ReadyAudio {
  /** The file's name; undefined for the microphone. */
  readonly fileName: string | undefined;
  readonly outcome: FinalResult | UploadResult | Failure;
}

export interface DictationView {
  state(state: DictationState): void;
  /** Loudness of every 100 ms so far, and the recording's length. */
  progress(levels: readonly number[], recordedMs: number): void;
  partial(text: string): void;
  /** The live text has ended early; the recording goes on and is recognized as a whole at its end. */
  liveTextLost(failure: Failure): void;
  waiting(wait: Waiting): void;
  /** A failure without a recording: nothing to try again with. */
  failed(failure: Failure): void;
  recorded(recording: Recording): void;
}

/**
 * What the page does for its user, one thing at a time:
 *
 *     idle ──start──▶ opening ──microphone heard──▶ recording ──stop, 15 s──▶ recognizing ──▶ idle
 *       └──────────── file, try again ──────────────────────────────────────▶ recognizing ──▶ idle
 *     opening, recording ── no microphone, no sound, too short ──▶ idle
 *
 * A recording whose stream fails is not lost: it is kept, and sent whole over HTTP once it has ended.
 */
export class Dictation {
  readonly #view: DictationView;
  readonly #token: () => string;
  #state: DictationState = 'idle';
  #capture: Capture | undefined;
  #stopAsked = false;
  #abort = new AbortController();

  constructor(view: DictationView, token: () => string) {
    this.#view = view;
    this.#token = token;
  }

  get state(): DictationState {
    return this.#state;
  }

  /** Records until `stop` or 15 s. Call it from a press. */
  async record(): Promise<void> {
    if (!this.#begin('opening')) return;
    const pieces: Pcm[] = [];
    const levels: number[] = [];
    let live: LiveRecognition | undefined;
    let samples = 0;
    this.#stopAsked = false;
    try {
      const ended = await new Promise<CaptureEnd>((resolve, reject) => {
        const frame = (pcm: Pcm): void => {
          // Only now: an open microphone can be seconds from its first sound, and what is said meanwhile is lost; a stream without audio would hold the one
          // slot for as long, and while somebody reads the browser's question.
          if (live === undefined) {
            this.#enter('recording');
            live = this.#goLive();
          }
          pieces.push(pcm);
          levels.push(level(pcm));
          samples += pcm.length;
          this.#view.progress(levels, durationMs(samples));
          live.push(pcm);
        };
        openMicrophone({ frame, end: resolve }, this.#abort.signal).then((capture) => {
          this.#capture = capture;
        }, reject);
      });
      if (this.#stopAsked && durationMs(samples) < MIN_RECORDING_MS) throw new Failure('too_short');
      if (live === undefined) throw new Failure('microphone_silent', ended);
      const recording: LiveRecognition = live;
      this.#enter('recognizing');
      recording.end();
      const audio: ReadyAudio = { wav: wavFile(pieces), levels };
      const result = recording.result.catch((error: unknown) => {
        if (asFailure(error).kind === 'unauthorized') throw error;
        return this.#transcribe(audio.wav);
      });
      const outcome = await result.catch(asFailure);
      this.#view.recorded({ ...audio, fileName: undefined, outcome });
      // A failure's own words are not to be replaced.
      if (ended === 'microphone_lost' && !(outcome instanceof Failure))
        this.#view.failed(new Failure('microphone_lost'));
    } catch (error) {
      this.#view.failed(asFailure(error));
    } finally {
      live?.abandon();
      this.#capture = undefined;
      this.#enter('idle');
    }
  }

  /** Ends the recording; also one whose microphone is still being opened, or asked for. */
  stop(): void {
    this.#stopAsked = true;
    if (this.#capture === undefined) this.#abort.abort(new Failure('too_short'));
    else this.#capture.stop();
  }

  async recognizeFile(file: File): Promise<void> {
    if (!this.#begin('recognizing')) return;
    try {
      const audio = await readAudioFile(file);
      await this.#recognize({ ...audio, fileName: file.name });
    } catch (error) {
      this.#view.failed(asFailure(error));
    } finally {
      this.#enter('idle');
    }
  }

  async tryAgain(recording: Recording): Promise<void> {
    if (!this.#begin('recognizing')) return;
    await this.#recognize(recording);
    this.#enter('idle');
  }

  /** Gives up waiting for the service. */
  cancel(): void {
    this.#abort.abort(new Failure('cancelled'));
  }

  #goLive(): LiveRecognition {
    const address = new URL('ws/asr', location.href);
    address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const live = recognizeLive(
      (events) => new StreamSession(new WebSocket(address), this.#token(), events),
      (text) => this.#view.partial(text),
    );
    const abort = this.#abort;
    live.result.catch(async (error: unknown) => {
      const failure = await this.#explained(asFailure(error));
      // The answer was so late that another recording has begun.
      if (abort !== this.#abort) return;
      // Nothing will come of a recording with a wrong token, so nobody needs to speak to its end. Not `stop()`, which the person asks for: short as it is, it
      // is kept, to try again with the right token.
      if (failure.kind === 'unauthorized') this.#capture?.stop();
      else if (this.#state === 'recording') this.#view.liveTextLost(failure);
    });
    return live;
  }

  /** A handshake fails alike when it is refused and when nobody is there, who does not answer anything else either. */
  async #explained(failure: Failure): Promise<Failure> {
    if (failure.kind !== 'stream_refused') return failure;
    return readiness(this.#token(), this.#abort.signal).then(() => failure, asFailure);
  }

  async #recognize(audio: Omit<Recording, 'outcome'>): Promise<void> {
    const outcome = await this.#transcribe(audio.wav).catch(asFailure);
    this.#view.recorded({ ...audio, outcome });
  }

  #transcribe(wav: Blob): Promise<UploadResult> {
    const { signal } = this.#abort;
    return withRetries(
      () => transcribe(wav, this.#token(), signal),
      (wait) => this.#view.waiting(wait),
      signal,
    );
  }

  #begin(state: DictationState): boolean {
    if (this.#state !== 'idle') return false;
    this.#abort = new AbortController();
    this.#enter(state);
    return true;
  }

  #enter(state: DictationState): void {
    if (!NEXT[this.#state].includes(state))
      throw new Error(`dictation: ${this.#state} → ${state} is no transition`);
    this.#state = state;
    this.#view.state(state);
  }
}
