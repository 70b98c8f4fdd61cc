import { CHUNK_BYTES } from '../../common/audio/limits.ts';
import type { SessionAudio } from './session-audio.ts';

/** So much waiting audio starts an update at once: half of the backlog that the interface allows. */
const URGENT_BYTES = 2 * CHUNK_BYTES;

/** How far a session's audio has come. */
type AudioSoFar = Pick<SessionAudio, 'receivedBytes' | 'ended'>;

/** When the next update of one session is due, and up to where in the recording it goes. */
export interface UpdatePacing {
  /**
   * @param takenBytes of the recording that are in an update.
   * @returns up to how many bytes the next update goes; undefined until it is due, and where the last call
   * takes in what is left.
   */
  next(takenBytes: number, audio: AudioSoFar): number | undefined;

  /** How long to wait at most before `next()` is asked again, although no audio has come. */
  readonly waitMs: number;

  /** An update has ended. @param startedAtMs of `performance.now()` */
  updated(startedAtMs: number): void;
}

/** @param isReDecoding as `ModelInfo` has it. @param idleMs how long to wait where nothing but audio makes an update due */
export function updatePacing(isReDecoding: boolean, idleMs: number): UpdatePacing {
  return isReDecoding ? new WholeRecording(idleMs) : new EachChunk(idleMs);
}

/** Streaming families: an update a chunk, whose steps cost the same at every place of the recording. */
class EachChunk implements UpdatePacing {
  readonly waitMs: number;

  constructor(idleMs: number) {
    this.waitMs = idleMs;
  }

  next(takenBytes: number, { receivedBytes }: AudioSoFar): number | undefined {
    const target = takenBytes + CHUNK_BYTES;
    return receivedBytes >= target ? target : undefined;
  }

  updated(): void {}
}

/**
 * Re-decoding families: an update takes all that is here. If it took long, the next one waits until twice
 * that time has passed since its start. So the model rests half of the time. But if a second of audio waits,
 * the next one begins at once. So a client that sends in real time is not told `overloaded` while updates
 * take under 1.5 s.
 */
class WholeRecording implements UpdatePacing {
  readonly #idleMs: number;
  #notBeforeMs = 0;

  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  get waitMs(): number {
    const restMs = Math.ceil(this.#notBeforeMs - performance.now());
    return restMs > 0 ? Math.min(restMs, this.#idleMs) : this.#idleMs;
  }

  next(takenBytes: number, { receivedBytes, ended }: AudioSoFar): number | undefined {
    const waitingBytes = receivedBytes - takenBytes;
    const isDue = waitingBytes >= URGENT_BYTES || performance.now() >= this.#notBeforeMs;
    return !ended && waitingBytes >= CHUNK_BYTES && isDue ? receivedBytes : undefined;
  }

  updated(startedAtMs: number): void {
    this.#notBeforeMs = startedAtMs + 2 * (performance.now() - startedAtMs);
  }
}
