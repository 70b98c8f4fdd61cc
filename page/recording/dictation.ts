import { joined } from '../../client/audio/frames.ts';
import { type Retry, type RetryOptions, withRetry } from '../../client/protocol/retry.ts';
import { BATCH_GAP_MS, Turns } from '../../client/protocol/turns.ts';
import type { TranscriptionResult } from '../../client/protocol/wire.ts';
import { audioMs, BYTES_PER_SAMPLE } from '../../common/audio/limits.ts';
import { asFailure, Failure } from '../service/failures.ts';
import { type LiveRecognition, recognizeLive } from '../service/live-recognition.ts';
import { readiness, serviceFor } from '../service/service.ts';
import type { DictationState, FailureKind } from '../texts/texts.ts';
import { readAudioFile } from './audio-file.ts';
import type { Audio, DictationView, Recording } from './dictation-view.ts';
import { levelsOf, loudness } from './loudness.ts';
import { type Capture, type CaptureEnd, openMicrophone } from './microphone.ts';

/** No syllable is this short: the button was tapped twice by mistake. */
const MIN_RECORDING_MS = 200;

/** Longer than a recording mostly takes. Behind a queue the answer may then come a minute later. */
const QUEUED_MS = 4_000;

/** A person sees that it waits, and can stop it. */
const RETRY: RetryOptions = { patienceMs: 600_000 };

/** What the next file would meet, too. */
const ENDS_BATCH: readonly FailureKind[] = [
  'cancelled',
  'unauthorized',
  'forbidden',
  'busy',
  'not_ready',
  'connection_lost',
];

const NEXT: Readonly<Record<DictationState, readonly DictationState[]>> = {
  idle: ['opening', 'recognizing'],
  opening: ['recording', 'idle'],
  recording: ['recognizing', 'idle'],
  recognizing: ['waiting', 'idle'],
  waiting: ['recognizing', 'idle'],
};

/**
 * What the page does for its user, one thing at a time:
 *
 *     idle ──start──▶ opening ──microphone heard──▶ recording ──stop, 15 s──▶ recognizing ──▶ idle
 *       └──────────── files, try again ─────────────────────────────────────▶ recognizing ──▶ idle
 *     opening, recording ── no microphone, no sound, too short ──▶ idle
 *     recognizing ◀── service busy or away, tried again ──▶ waiting ── given up ──▶ idle
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
  #late: ReturnType<typeof setTimeout> | undefined;

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
    const takenAt = new Date();
    const frames: Int16Array[] = [];
    const levels: number[] = [];
    let live: LiveRecognition | undefined;
    let recordedMs = 0;
    this.#stopAsked = false;
    try {
      const ended = await new Promise<CaptureEnd>((resolve, reject) => {
        const frame = (pcm: Int16Array): void => {
          // Only now: an open microphone can be seconds from its first sound, and what is said meanwhile is
          // lost. A stream without audio would hold the one slot for as long, and while somebody reads the
          // browser's question.
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
      if (!recording.isOpen) this.#sayIfQueued();
      const samples = joined(frames);
      const result = recording.result.catch((error: unknown) => {
        if (asFailure(error).kind === 'unauthorized') throw error;
        return this.#transcribe(samples);
      });
      const outcome = await result.catch(asFailure);
      this.#view.recorded({ samples, levels, fileName: undefined, takenAt, outcome });
      // A failure's own words are not to be replaced.
      if (ended === 'microphone_lost' && !(outcome instanceof Failure))
        this.#view.failed(new Failure('microphone_lost'));
    } catch (error) {
      this.#view.failed(asFailure(error));
    } finally {
      live?.abandon();
      clearTimeout(this.#late);
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

  /** One after the other, with the manners of a batch. Each becomes a recording, also one that cannot be read. */
  async recognizeFiles(files: readonly File[]): Promise<void> {
    if (!this.#begin('recognizing')) return;
    const turns = new Turns(files.length > 1 ? BATCH_GAP_MS : 0);
    let ended: Failure | undefined;
    for (const [index, file] of files.entries()) {
      const place = [index + 1, files.length] as const;
      this.#enter('recognizing');
      this.#view.recognizing({ fileName: file.name, levels: [] }, ...place);
      const takenAt = new Date();
      const read = await readAudioFile(file).catch(asFailure);
      const samples = read instanceof Failure ? new Int16Array(0) : read;
      const audio = { samples, levels: levelsOf(samples), fileName: file.name, takenAt };
      this.#view.recognizing(audio, ...place);
      const outcome = read instanceof Failure ? read : (ended ?? (await this.#recognize(audio, turns)));
      this.#view.recorded({ ...audio, outcome });
      if (outcome instanceof Failure && ENDS_BATCH.includes(outcome.kind)) ended = outcome;
    }
    this.#enter('idle');
  }

  async tryAgain(recording: Recording): Promise<void> {
    if (!this.#begin('recognizing')) return;
    this.#view.recognizing(recording, 1, 1);
    this.#view.recorded({ ...recording, outcome: await this.#recognize(recording) });
    this.#enter('idle');
  }

  /** Gives up waiting for the service, and what files are left. */
  cancel(): void {
    this.#abort.abort(new Failure('cancelled'));
  }

  #goLive(): LiveRecognition {
    const live = recognizeLive(
      (options) => serviceFor(this.#token()).stream(options),
      (text) => this.#view.partial(text),
      () => this.#answered(),
    );
    this.#sayIfQueued();
    const abort = this.#abort;
    abort.signal.addEventListener('abort', () => live.abandon());
    live.result.catch(async (error: unknown) => {
      clearTimeout(this.#late);
      const failure = await this.#explained(asFailure(error));
      // The answer was so late that another recording has begun.
      if (abort !== this.#abort) return;
      // Nothing will come of a recording with a wrong token, so nobody needs to speak to its end. Not
      // `stop()`, which the person asks for: the recording is kept, short as it is, to try again with the
      // right token.
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

  #recognize({ samples }: Audio, turns?: Turns): Promise<TranscriptionResult | Failure> {
    return this.#transcribe(samples, turns).catch(asFailure);
  }

  async #transcribe(samples: Int16Array, turns = new Turns(0)): Promise<TranscriptionResult> {
    const onRetry = (retry: Retry): void => {
      this.#enter('waiting');
      this.#view.waiting(retry);
    };
    const { signal } = this.#abort;
    const service = serviceFor(this.#token());
    const attempt = () => {
      this.#sayIfQueued();
      return service.transcribe(samples, { signal, retry: false }).finally(() => clearTimeout(this.#late));
    };
    return withRetry(() => turns.next(attempt, signal), { ...RETRY, onRetry }, signal);
  }

  #sayIfQueued(): void {
    clearTimeout(this.#late);
    this.#late = setTimeout(() => this.#view.queued(), QUEUED_MS);
  }

  #answered(): void {
    clearTimeout(this.#late);
    this.#view.hasTurn();
  }

  #begin(state: DictationState): boolean {
    if (this.#state !== 'idle') return false;
    this.#abort = new AbortController();
    this.#enter(state);
    return true;
  }

  #enter(state: DictationState): void {
    if (state === this.#state) return;
    if (!NEXT[this.#state].includes(state))
      throw new Error(`dictation: ${this.#state} → ${state} is no transition`);
    this.#state = state;
    this.#view.state(state);
  }
}
