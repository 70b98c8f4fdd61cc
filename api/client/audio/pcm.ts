import { Resampler } from '../../page/resampler.ts';
import { AsrError } from '../errors.ts';
import { MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from '../wire.ts';
import { toMono } from './samples.ts';
import { BYTES_PER_SAMPLE, readWav, type WavAudio } from './wav.ts';

/** Samples (16 kHz, mono), or a WAV file of any rate from 8 to 384 kHz, any channels and any usual sample format. */
export type AudioInput = Int16Array | Uint8Array | ArrayBuffer | Blob;

const LOWEST_RATE_HZ = 8_000;
const HIGHEST_RATE_HZ = 384_000;

/**
 * Turns a recording into what the service takes: 16 kHz, mono, 16 bits. A file that is so already keeps its samples bit by bit;
 * channels are averaged, other rates go through a low-pass polyphase resampler.
 * @throws AsrError `invalid_format`, `empty_audio` or `audio_too_long` (over 15 s; nothing is cut off).
 */
export async function toPcm(audio: AudioInput): Promise<Int16Array> {
  if (audio instanceof Int16Array) {
    checkLength(audio.length, SAMPLE_RATE_HZ);
    return audio;
  }
  const file = audio instanceof Blob ? new Uint8Array(await audio.arrayBuffer()) : audio;
  return wavToPcm(readWav(file instanceof Uint8Array ? file : new Uint8Array(file)));
}

/** As `toPcm`, for a WAV file that was read. */
export function wavToPcm(wav: WavAudio): Int16Array {
  const { rateHz, channels, encoding, data } = wav;
  if (rateHz < LOWEST_RATE_HZ || rateHz > HIGHEST_RATE_HZ)
    throw new AsrError('invalid_format', `a sample rate of ${rateHz} Hz; from 8000 to 384000 Hz are taken`);
  // Before any sample is converted: a file of hours is refused at once.
  checkLength(data.byteLength / (channels * BYTES_PER_SAMPLE[encoding]), rateHz);
  if (rateHz === SAMPLE_RATE_HZ && channels === 1 && encoding === 'int16') return int16Of(data);
  const mono = toMono(wav);
  return rateHz === SAMPLE_RATE_HZ ? quantize(mono) : quantize(resample(mono, rateHz));
}

function checkLength(samples: number, rateHz: number): void {
  if (samples === 0) throw new AsrError('empty_audio', 'the recording has no audio sample');
  if (samples * SAMPLE_RATE_HZ <= MAX_RECORDING_SAMPLES * rateHz) return;
  const seconds = (samples / rateHz).toFixed(3);
  throw new AsrError(
    'audio_too_long',
    `the recording is ${seconds} s long; at most 15 s are taken, so split it`,
  );
}

function int16Of(data: DataView): Int16Array {
  const pcm = new Int16Array(data.byteLength / 2);
  for (let index = 0; index < pcm.length; index += 1) pcm[index] = data.getInt16(2 * index, true);
  return pcm;
}

function resample(mono: Float32Array, rateHz: number): Float32Array {
  const resampler = new Resampler(rateHz);
  const body = resampler.push(mono);
  const tail = resampler.flush();
  const joined = new Float32Array(body.length + tail.length);
  joined.set(body);
  joined.set(tail, body.length);
  return joined;
}

function quantize(samples: Float32Array): Int16Array {
  const pcm = new Int16Array(samples.length);
  for (const [index, sample] of samples.entries())
    pcm[index] = Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768)));
  return pcm;
}
