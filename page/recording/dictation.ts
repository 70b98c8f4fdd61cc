import type { AsrClientCore } from '../../client/client.ts';
import type { Transcript } from '../../client/protocol/transcript.ts';
import { asFailure, Failure } from '../service/failures.ts';
import { serviceFor } from '../service/service.ts';
import { type DictationState, type FailureKind, MAX_MINUTES, MAX_WAITING_MINUTES } from '../texts/texts.ts';
import { readAudioFile } from './audio-file.ts';
import { AudioParts, wavFrom } from './audio-parts.ts';
import { LiveText, PATIENCE_MS } from './live-text.ts';
import { type Capture, type CaptureEnd, openMicrophone } from './microphone.ts';
import { IDLE, type Now, type Outcome, type Recording, type Sound } from './now.ts';
import { continued, NOTHING_YET } from './transcripts.ts';

/** No syllable is this short: the button was tapped twice by mistake. */
const MIN_RECORDING_MS = 200;
const MAX_RECORDING_MS = MAX_MINUTES * 60_000;
/** Just before the client gives up. */
const MAX_WAITING_MS = MAX_WAITING_MINUTES * 60_000 - 1_000;

/** Longer than a piece mostly takes. Behind a queue the answer may then come a minute later. */
const QUEUED_MS = 4_000;

/** What the next file would meet, too; and the rest of a recording, for which it was tried long enough. */
const LASTING: readonly FailureKind[] = [
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

/** The page, which lends its fields and is told what goes on. */
export interface DictationPage {
  token(): string;
  /** Of the microphone to use; '' for the system's choice. */
  deviceId(): string;
  show(now: Now): void;
  /** What has ended the recording, and not its person. It is recognized now. */
  interrupted(by: Failure): void;
  /** A failure without a recording: nothing to try again with. */
  failed(failure: Failure): void;
  recorded(recording: Recording): void;
}

/**
 * What the page does for its user, one thing at a time:
 *
 *     idle ──start──▶ opening ──microphone heard──▶ recording ──stop, limit──▶ recognizing ──▶ idle
 *       └──────────── files, try again ──────────────────────────────────────▶ recognizing ──▶ idle
 *     opening, recording ── no microphone, no sound, too short ──▶ idle
 *     recognizing ── service busy or away ──▶ waiting ── text of a piece ──▶ recognizing
 *     waiting ── given up ──▶ idle
 *
 * No recording is lost with its live text: it is kept, and what has no text at its end is sent then.
 */
export class Dictation {
  readonly #page: DictationPage;
  #now = IDLE;
  #capture: Capture | undefined;
  #stopAsked = false;
  #abort = new AbortController();
  #late: ReturnType<typeof setTimeout> | undefined;

  constructor(page: DictationPage) {
    this.#page = page;
  }

  get state(): DictationState {
    return this.#now.state;
  }

  /** Records until `stop` or a limit. Call it from a press. */
  record(): Promise<void> {
    return this.#alone({ state: 'opening' }, async (service) => {
      const takenAt = new Date();
      const parts = new AudioParts();
      let live: LiveText | undefined;
      let limit: Failure | undefined;
      this.#stopAsked = false;
      const ended = await new Promise<CaptureEnd>((resolve, reject) => {
        const frame = (pcm: Int16Array): void => {
          if (limit !== undefined) return;
          // Only now: an open microphone can be seconds from its first sound, and what is said meanwhile is
          // lost. A stream without audio would hold the one slot for as long, and while somebody reads the
          // browser's question.
          live ??= this.#goLive(service);
          parts.push(pcm);
          live.push(pcm);
          const { levels, lengthMs } = parts;
          const { behindBecause: obstacle, waitingMs } = live;
          this.#change({
            state: 'recording',
            sound: { ...IDLE.sound, levels, lengthMs },
            obstacle,
            waitingMs,
          });
          limit = limitMet(lengthMs, waitingMs);
          if (limit !== undefined) this.#capture?.stop();
        };
        openMicrophone(this.#page.deviceId(), { frame, end: resolve }, this.#abort.signal).then((capture) => {
          this.#capture = capture;
        }, reject);
      });
      if (this.#stopAsked && parts.lengthMs < MIN_RECORDING_MS) throw new Failure('too_short');
      if (live === undefined) throw new Failure('microphone_silent', ended);
      const sound = parts.sound(undefined, takenAt);
      this.#change({ state: 'recognizing', sound, recognizedMs: live.soFar.audio_ms });
      const interruption = ended === 'microphone_lost' ? new Failure('microphone_lost') : limit;
      if (interruption !== undefined) this.#page.interrupted(interruption);
      this.#page.recorded({ ...sound, ...(await this.#outcome(live, service, sound)) });
    });
  }

  /** Ends the recording; also one whose microphone is still being opened, or asked for. */
  stop(): void {
    this.#stopAsked = true;
    if (this.#capture === undefined) this.#abort.abort(new Failure('too_short'));
    else this.#capture.stop();
  }

  /** One after the other, with the manners of a batch. Each becomes a recording, also one that cannot be read. */
  recognizeFiles(files: readonly File[]): Promise<void> {
    return this.#alone({ state: 'recognizing' }, async (service) => {
      let lasting: Failure | undefined;
      for (const [index, file] of files.entries()) {
        const fileName = file.name;
        const place = [index + 1, files.length] as const;
        this.#change({ ...IDLE, state: 'recognizing', sound: { ...IDLE.sound, fileName }, place });
        const takenAt = new Date();
        const read = await readAudioFile(file).catch(asFailure);
        const sound = (read instanceof Failure ? new AudioParts() : read).sound(fileName, takenAt);
        this.#change({ sound });
        const failure = read instanceof Failure ? read : lasting;
        const none = { transcript: NOTHING_YET, failure };
        const outcome = failure === undefined ? await this.#transcribe(service, sound) : none;
        this.#page.recorded({ ...sound, ...outcome });
        if (outcome.failure !== undefined && LASTING.includes(outcome.failure.kind))
          lasting = outcome.failure;
      }
    });
  }

  /** Goes on where the attempts before it ended. */
  tryAgain(recording: Recording): Promise<void> {
    const { transcript } = recording;
    const now = { state: 'recognizing', sound: recording, recognizedMs: transcript.audio_ms } as const;
    return this.#alone(now, async (service) => {
      const outcome = await this.#transcribe(service, recording, transcript);
      this.#page.recorded({ ...recording, failure: undefined, ...outcome });
    });
  }

  /** Gives up waiting for the service, and what files are left. */
  cancel(): void {
    this.#abort.abort(new Failure('cancelled'));
  }

  #goLive(service: AsrClientCore): LiveText {
    return new LiveText(service, this.#abort.signal, {
      text: (text) => this.#change({ text }),
      piece: (soFar) => this.#recognized(soFar),
      retry: (failure) => this.#retry(failure),
      // Nothing will come of a recording with a wrong token, so nobody needs to speak to its end. Not
      // `stop()`, which the person asks for: the recording is kept, short as it is, to try again with the
      // right token.
      lost: ({ kind }) => {
        if (kind === 'unauthorized') this.#capture?.stop();
      },
    });
  }

  async #outcome(live: LiveText, service: AsrClientCore, sound: Sound): Promise<Outcome> {
    const endedAtMs = performance.now();
    try {
      return { transcript: await live.end(), finalizeMs: performance.now() - endedAtMs };
    } catch (error) {
      const failure = asFailure(error);
      if (LASTING.includes(failure.kind)) return { transcript: live.soFar, failure };
      return this.#transcribe(service, sound, live.soFar);
    }
  }

  /** @param before what of it has its text already */
  async #transcribe(
    service: AsrClientCore,
    { wav }: Sound,
    before: Transcript = NOTHING_YET,
  ): Promise<Outcome> {
    const { signal } = this.#abort;
    const onRetry = ({ error }: { error: unknown }): void => this.#retry(asFailure(error));
    const retry = { patienceMs: PATIENCE_MS, onRetry };
    const long = service.transcribeLong(wavFrom(wav, before.audio_ms), { signal, retry });
    const soFar = (): Transcript => continued(before, long.soFar);
    try {
      for await (const _ of long) this.#recognized(soFar());
      return { transcript: soFar() };
    } catch (error) {
      return { transcript: soFar(), failure: asFailure(error) };
    }
  }

  #recognized({ text, audio_ms }: Transcript): void {
    const { state } = this.#now;
    this.#change({ state: state === 'waiting' ? 'recognizing' : state, text, recognizedMs: audio_ms });
  }

  #retry(obstacle: Failure): void {
    // Until its end a recording only falls behind.
    if (this.#now.state !== 'recording') this.#change({ state: 'waiting', obstacle });
  }

  /** Does this from its first state on, unless something else goes on. It fails at once with a token that can be none. */
  async #alone(now: Partial<Now>, work: (service: AsrClientCore) => Promise<void>): Promise<void> {
    if (this.#now.state !== 'idle') return;
    try {
      const service = serviceFor(this.#page.token());
      this.#abort = new AbortController();
      this.#change({ ...IDLE, ...now });
      await work(service);
    } catch (error) {
      this.#page.failed(asFailure(error));
    } finally {
      // A session that is still open would hold the slot.
      this.#abort.abort(new Failure('cancelled'));
      this.#capture = undefined;
      this.#change(IDLE);
    }
  }

  #change(part: Partial<Now>): void {
    const now = { ...this.#now, ...part };
    const { state } = this.#now;
    if (now.state !== state && !NEXT[state].includes(now.state))
      throw new Error(`dictation: ${state} → ${now.state} is no transition`);
    clearTimeout(this.#late);
    // After a while without an answer it may be the turn of others.
    if (now.state === 'recognizing' && now.sound.lengthMs > 0)
      this.#late = setTimeout(() => this.#retry(new Failure('queued')), QUEUED_MS);
    this.#now = now;
    this.#page.show(now);
  }
}

/** @returns what ends a recording of this length, of which so much waits for the service */
export function limitMet(recordedMs: number, waitingMs: number): Failure | undefined {
  if (recordedMs >= MAX_RECORDING_MS) return new Failure('recording_limit');
  return waitingMs >= MAX_WAITING_MS ? new Failure('waiting_limit') : undefined;
}
