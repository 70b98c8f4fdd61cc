import { BYTES_PER_SECOND, MAX_RECORDING_BYTES } from '../../common/audio/limits.ts';
import { DEFAULT_SET, readSet } from '../eval/sets.ts';

const FRAME_MS = 10;
const FRAME_BYTES = (BYTES_PER_SECOND * FRAME_MS) / 1000;
/** Below the loudest sample. The noise of these rooms comes up to 25 dB below it. */
const SPEECH_DB = -20;
/** A click is shorter. */
const SPEECH_FRAMES = 3;
/**
 * Of silence that stays at both ends in dense speech. Without it the bundled Whisper left out sentences in 5
 * of 12 such recordings.
 */
const EDGE_MS = 200;

/** A recording of a real person: 16 kHz mono PCM16, little-endian. */
export interface RealClip {
  readonly name: string;
  readonly pcm: Buffer;
  /** From where to where it is spoken. */
  readonly speech: { readonly startMs: number; readonly endMs: number };
}

/** Those of `test/fixtures/real-speech`. */
export async function readRealClips(): Promise<RealClip[]> {
  return (await readSet(DEFAULT_SET)).map(({ name, pcm }) => ({ name, pcm, speech: findSpeech(pcm) }));
}

/** @returns 15 s of speech with short pauses: the clips one behind the other, without most of the silence at their ends. */
export function denseSpeech(clips: readonly RealClip[]): Buffer {
  const bytes = (ms: number): number => (Math.max(0, ms) / FRAME_MS) * FRAME_BYTES;
  const spoken = clips.map(({ pcm, speech: { startMs, endMs } }) =>
    pcm.subarray(bytes(startMs - EDGE_MS), bytes(endMs + EDGE_MS)),
  );
  return Buffer.concat(spoken).subarray(0, MAX_RECORDING_BYTES);
}

function findSpeech(pcm: Buffer): RealClip['speech'] {
  const samples = Float32Array.from({ length: pcm.length / 2 }, (_, i) => pcm.readInt16LE(2 * i));
  const peak = samples.reduce((max, sample) => Math.max(max, Math.abs(sample)), 0);
  const leastPower = (peak * 10 ** (SPEECH_DB / 20)) ** 2;
  const size = FRAME_BYTES / 2;
  const isLoud = Array.from({ length: Math.floor(samples.length / size) }, (_, frame) => {
    const power = samples.subarray(frame * size, (frame + 1) * size).reduce((sum, x) => sum + x * x, 0);
    return power / size > leastPower;
  });
  const starts = [...isLoud.keys()].filter((frame) =>
    Array.from({ length: SPEECH_FRAMES }, (_, i) => isLoud[frame + i]).every(Boolean),
  );
  const [first = 0] = starts;
  const last = starts.at(-1) ?? first;
  return { startMs: first * FRAME_MS, endMs: (last + SPEECH_FRAMES) * FRAME_MS };
}
