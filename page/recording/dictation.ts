import { joined } from '../../client/audio/frames.ts';
import type { Retry, RetryOptions } from '../../client/protocol/retry.ts';
import type { StreamFinal, TranscriptionResult } from '../../client/protocol/wire.ts';
import { audioMs, BYTES_PER_SAMPLE } from '../../common/audio/limits.ts';
import { asFailure, Failure } from '../service/failures.ts';
import { type LiveRecognition, recognizeLive } from '../service/live-recognition.ts';
import { readiness, serviceFor } from '../service/service.ts';
import type { DictationState } from '../texts/texts.ts';
import { readAudioFile } from './audio-file.ts';
import { levelsOf, loudness } from './loudness.ts';
import { type Capture, type CaptureEnd, openMicrophone } from './microphone.ts';

/** No syllable is this short: the button was tapped twice by mistake. */
const MIN_RECORDING_MS = 200;

/** A person sees that it waits, and can stop it. */
const RETRY: RetryOptions = { patienceMs: 600_000 };

const NEXT: Readonly<Record<DictationState, readonly DictationState[]>> = {
  idle: ['opening', 'recognizing'],
  opening: ['recording', 'idle'],
  recording: ['recognizing', 'idle'],
  recognizing: ['idle'],
};

/** One recording of this tab; `outcome` is the latest attempt's. */
export interface Recording {
  /** 16 kHz, mono. */
  readonly samples: Int16Array;
  /** Its loudness for every 100 ms. */
  readonly levels: readonly number[];
  /** The file's name; undefined for the microphone. */
  readonly fileName: string | undefined;
  readonly outcome: StreamFinal | TranscriptionResult | Failure;
}

export interface DictationView {
  state(state: DictationState): void;
  /** Loudness of every 100 ms so far, and the recording's length. */
  progress(levels: readonly number[], recordedMs: number): void;
  partial(text: string): void;
  /** The live text has ended early; the recording goes on and is recognized as a whole at its end. */
  liveTextLost(failure: Failure): void;
  waiting(retry: Retry): void;
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
  readonly #deviceId: () => string;
  #state: DictationState = 'idle';
  #capture: Capture | undefined;
  #stopAsked = false;
  #abort = new AbortController();

  /** @param deviceId of the microphone to use; '' for the system's choice */
  constructor(view: DictationView, token: () => string, deviceId: () => string) {
    this.#view = view;
    this.#token = token;
    this.#deviceId = deviceId;
  }

  get state(): DictationState {
    return this.#state;
  }

  /** Records until `stop` or 15 s. Call it from a press. */
  async record(): Promise<void> {
    if (!this.#begin('opening')) return;
    const frames: Int16Array[] = [];
    const levels: number[] = [];
    let live: LiveRecognition | undefined;
    let recordedMs = 0;
    this.#stopAsked = false;
    try {
      const ended = await new Promise<CaptureEnd>((resolve, reject) => {
        const frame = (pcm: Int16Array): void => {
          // Only now: an open microphone can be seconds from its first sound, and what is said meanwhile is lost. A stream without audio would hold the one
          // slot for as long, and while somebody reads the browser's question.
          if (live === undefined) {
            this.#enter('recording');
            live = this.#goLive();
          }
          frames.push(pcm);
          levels.push(loudness(pcm));
          recordedMs += audioMs(BYTES_PER_SAMPLE * pcm.length);
          this.#view.progress(levels, recordedMs);
          live.push(pcm);
        };
        openMicrophone(this.#deviceId(), { frame, end: resolve }, this.#abort.signal).then((capture) => {
          this.#capture = capture;
        }, reject);
      });
      if (this.#stopAsked && recordedMs < MIN_RECORDING_MS) throw new Failure('too_short');
      if (live === undefined) throw new Failure('microphone_silent', ended);
      const recording: LiveRecognition = live;
      this.#enter('recognizing');
      recording.end();
      const samples = joined(frames);
      const result = recording.result.catch((error: unknown) => {
        if (asFailure(error).kind === 'unauthorized') throw error;
        return this.#transcribe(samples);
      });
      const outcome = await result.catch(asFailure);
      this.#view.recorded({ samples, levels, fileName: undefined, outcome });
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
      const samples = await readAudioFile(file);
      await this.#recognize({ samples, levels: levelsOf(samples), fileName: file.name });
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
    const live = recognizeLive(
      (options) => serviceFor(this.#token()).stream(options),
      (text) => this.#view.partial(text),
    );
    const abort = this.#abort;
    live.result.catch(async (error: unknown) => {
      const failure = await this.#explained(asFailure(error));
      // The answer was so late that another recording has begun.
      if (abort !== this.#abort) return;
      // Nothing will come of a recording with a wrong token, so nobody needs to speak to its end. Not `stop()`, which the person asks for: the recording is
      // kept, short as it is, to try again with the right token.
      if (failure.kind === 'unauthorized') this.#capture?.stop();
      else if (this.#state === 'recording') this.#view.liveTextLost(failure);
    });
    return live;
  }

  /** A handshake fails alike if it is refused and if nobody is there. If nobody is there, nothing else is answered either. */
  async #explained(failure: Failure): Promise<Failure> {
    if (failure.kind !== 'stream_refused') return failure;
    return readiness(this.#token(), this.#abort.signal).then(() => failure, asFailure);
  }

  async #recognize(audio: Omit<Recording, 'outcome'>): Promise<void> {
    const outcome = await this.#transcribe(audio.samples).catch(asFailure);
    this.#view.recorded({ ...audio, outcome });
  }

  async #transcribe(samples: Int16Array): Promise<TranscriptionResult> {
    const onRetry = (retry: Retry): void => this.#view.waiting(retry);
    const { signal } = this.#abort;
    return serviceFor(this.#token()).transcribe(samples, { signal, retry: { ...RETRY, onRetry } });
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
