import { MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';

/** Levels are of 10 ms each, and every cut lies between two of them. */
const FRAME_SAMPLES = SAMPLE_RATE_HZ / 100;
const MAX_PIECE_FRAMES = 1_480;
const MIN_PIECE_FRAMES = 400;
const MIN_PAUSE_FRAMES = 20;
/** Without a pause: where to look for the quietest place, and how long that is. */
const LAST_FRAMES = 500;
const QUIETEST_FRAMES = 10;
/** Where a live piece ends before its time: from so many frames on, at a pause of so many. */
const LIVE_ENDS = [
  { fromFrames: 800, pauseFrames: 40 },
  { fromFrames: 1_200, pauseFrames: MIN_PAUSE_FRAMES },
] as const;
/** A weak consonant at the edge of speech lies below the threshold. */
const SPEECH_MARGIN_FRAMES = 10;
/** Digital silence lies further below the speech than the quietest room. */
const QUIETEST_ROOM_DB = 60;

/** A piece of a recording, at most 14.8 s. A recording of up to 15 s is one piece. */
export interface AudioPiece {
  /** A copy, 16 kHz mono. */
  readonly samples: Int16Array;
  /** Where the piece begins in the recording. The next piece begins where this one ends. */
  readonly startSample: number;
  /** Where the speech in it begins and ends in the recording; the whole piece if nothing stands out. */
  readonly speechStartSample: number;
  readonly speechEndSample: number;
}

/**
 * Cuts audio of any length into pieces that the service takes. A cut lies in the middle of the longest pause
 * between 4 and 14.8 s of the piece. Without a pause of 0.2 s it lies at the quietest 0.1 s of the last 5 s.
 * A pause is what lies below a threshold over the piece's own noise. No sample is lost or doubled, however
 * the audio comes, and memory is that of one piece.
 *
 * Live audio is cut as it comes: at the end of a pause of 0.4 s once the piece has 8 s, of 0.2 s once it has
 * 12 s, and at 14.8 s by the rule above.
 */
export class PauseCutter {
  readonly #isLive: boolean;
  readonly #samples = new Int16Array(MAX_RECORDING_SAMPLES);
  #length = 0;
  /** In dB, of the full frames in `#samples`. */
  #levels: number[] = [];
  #startSample = 0;

  constructor({ live = false }: { readonly live?: boolean } = {}) {
    this.#isLive = live;
  }

  /** @returns a copy of the audio of the piece that is not complete yet */
  held(): Int16Array {
    return this.#samples.slice(0, this.#length);
  }

  /** @param samples are copied. @returns the pieces that they complete */
  push(samples: Int16Array): AudioPiece[] {
    const pieces: AudioPiece[] = [];
    for (let taken = 0; taken < samples.length; ) {
      // Only now it is known that the recording is longer.
      if (this.#length === MAX_RECORDING_SAMPLES) pieces.push(this.#cutAtPause());
      const next = samples.subarray(taken, taken + FRAME_SAMPLES - (this.#length % FRAME_SAMPLES));
      this.#samples.set(next, this.#length);
      this.#length += next.length;
      taken += next.length;
      if (this.#length % FRAME_SAMPLES !== 0) continue;
      this.#levels.push(levelDb(this.#samples.subarray(this.#length - FRAME_SAMPLES, this.#length)));
      if (!this.#isLive) continue;
      if (this.#isAtLiveEnd()) pieces.push(this.#cut(this.#levels.length));
      else if (this.#levels.length === MAX_PIECE_FRAMES) pieces.push(this.#cutAtPause());
    }
    return pieces;
  }

  /** The end of the audio. @returns what is left, in one or two pieces */
  flush(): AudioPiece[] {
    const pieces: AudioPiece[] = [];
    if (this.#startSample > 0 && this.#length > MAX_PIECE_FRAMES * FRAME_SAMPLES)
      pieces.push(this.#cutAtPause());
    if (this.#length > 0) pieces.push(this.#take(this.#length));
    return pieces;
  }

  #isAtLiveEnd(): boolean {
    const levels = this.#levels;
    const end = LIVE_ENDS.findLast(({ fromFrames }) => levels.length >= fromFrames);
    if (end === undefined) return false;
    const threshold = thresholdDb(levels);
    return levels.slice(-end.pauseFrames).every((level) => level < threshold);
  }

  #cutAtPause(): AudioPiece {
    const levels = this.#levels.slice(0, MAX_PIECE_FRAMES);
    const { start, end } = longestPause(levels);
    if (end - start >= MIN_PAUSE_FRAMES) return this.#cut(Math.floor((start + end) / 2));
    return this.#cut(quietestPlace(levels));
  }

  #cut(frames: number): AudioPiece {
    return this.#take(frames * FRAME_SAMPLES);
  }

  #take(length: number): AudioPiece {
    const startSample = this.#startSample;
    const samples = this.#samples.slice(0, length);
    const levels = this.#levels.slice(0, Math.floor(length / FRAME_SAMPLES));
    this.#samples.copyWithin(0, length, this.#length);
    this.#levels = this.#levels.slice(levels.length);
    this.#length -= length;
    this.#startSample += length;
    const threshold = thresholdDb(levels);
    const isSpeech = (level: number): boolean => level >= threshold;
    const first = levels.findIndex(isSpeech);
    const from = first < 0 ? 0 : Math.max(0, first - SPEECH_MARGIN_FRAMES) * FRAME_SAMPLES;
    const behind = (levels.findLastIndex(isSpeech) + 1 + SPEECH_MARGIN_FRAMES) * FRAME_SAMPLES;
    const to = first < 0 ? length : Math.min(length, behind);
    return {
      ...{ samples, startSample },
      ...{ speechStartSample: startSample + from, speechEndSample: startSample + to },
    };
  }
}

/** The power of a frame around its mean, so that an offset does not count: 0 dB is one step of 16 bits. */
function levelDb(frame: Int16Array): number {
  let sum = 0;
  let squares = 0;
  for (const sample of frame) {
    sum += sample;
    squares += sample * sample;
  }
  const mean = sum / frame.length;
  return 10 * Math.log10(Math.max(1, squares / frame.length - mean * mean));
}

/** Below it there is a pause. Measured on 82 clips joined with pauses of 0.3 to 2 s. */
function thresholdDb(levels: readonly number[]): number {
  const sorted = Float64Array.from(levels).sort();
  const loud = sorted[Math.floor(0.95 * (sorted.length - 1))] ?? 0;
  const silent = sorted.findIndex((level) => level > loud - QUIETEST_ROOM_DB);
  const quiet = sorted[silent + Math.floor(0.05 * (sorted.length - 1 - silent))] ?? 0;
  return quiet + Math.max(0.3 * (loud - quiet), 6);
}

/** @returns the frames of the longest pause from 4 s on, the later one of two; none: no frames */
function longestPause(levels: readonly number[]): { readonly start: number; readonly end: number } {
  const threshold = thresholdDb(levels);
  let longest = { start: 0, end: 0 };
  let start = MIN_PIECE_FRAMES;
  for (let frame = MIN_PIECE_FRAMES; frame < levels.length; frame += 1) {
    if ((levels[frame] ?? 0) >= threshold) start = frame + 1;
    else if (frame + 1 - start >= longest.end - longest.start) longest = { start, end: frame + 1 };
  }
  return longest;
}

/** @returns the middle of the quietest 0.1 s in the last 5 s */
function quietestPlace(levels: readonly number[]): number {
  let place = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let frame = levels.length - LAST_FRAMES; frame + QUIETEST_FRAMES <= levels.length; frame += 1) {
    const sum = levels.slice(frame, frame + QUIETEST_FRAMES).reduce((total, level) => total + level, 0);
    if (sum >= least) continue;
    least = sum;
    place = frame + QUIETEST_FRAMES / 2;
  }
  return place;
}
