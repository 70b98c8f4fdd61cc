import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPcm16 } from '../../../../common/audio/pcm16.ts';
import { DEFAULT_SET } from '../../../eval/sets.ts';
import { Weights } from '../../../onnx/weights.ts';
import { fixtures, samplesOf } from '../../../support/audio/fixtures.ts';

export const MAX_SAMPLES = 240_000;

export interface Recording {
  readonly name: string;
  readonly samples: Int16Array;
}

/** 12 sentences of real people. */
export function realSpeech(): Recording[] {
  return readdirSync(DEFAULT_SET)
    .filter((name) => name.endsWith('.wav'))
    .sort()
    .map((name) => ({ name, samples: samplesOf(readPcm16(readFileSync(join(DEFAULT_SET, name)))) }));
}

/** 30 recordings: speech, silence, noise, from 1 sample to 15 s. */
export function recordings(): Recording[] {
  const speech = fixtures();
  const random = new Weights(7);
  const noise = (count: number, amplitude: number): Int16Array =>
    Int16Array.from({ length: count }, () => Math.round(random.normal(amplitude)));
  const first = speech[0]?.samples ?? new Int16Array(0);
  const second = speech[4]?.samples ?? new Int16Array(0);
  const short = [1, 2, 119, 120, 121, 279, 280, 281, 400].map((count) => ({
    name: `${count} samples`,
    samples: noise(count, 3000),
  }));
  return [
    ...speech,
    ...short,
    { name: 'silence 0.3 s', samples: new Int16Array(4800) },
    { name: 'silence 3 s', samples: new Int16Array(48_000) },
    { name: 'silence 15 s', samples: new Int16Array(MAX_SAMPLES) },
    { name: 'loud noise 1 s', samples: noise(16_000, 9000) },
    { name: 'faint noise 2.5 s', samples: noise(40_000, 3) },
    {
      name: 'square wave 0.5 s',
      samples: Int16Array.from({ length: 8000 }, (_, i) => (i % 80 < 40 ? 32767 : -32768)),
    },
    {
      name: 'speech 15 s',
      samples: Int16Array.from({ length: MAX_SAMPLES }, (_, i) => second[i % second.length] ?? 0),
    },
    { name: 'speech in noise', samples: first.map((sample) => sample + Math.round(random.normal(400))) },
    { name: 'speech from sample 0', samples: first.slice(firstLoudSample(first)) },
    { name: 'faint speech', samples: second.map((sample) => sample >> 6) },
    { name: 'speech cut in a word', samples: second.slice(0, 33_333) },
  ];
}

/** Speech of these many samples, and one less and one more. */
export function boundaryRecordings(sampleCounts: readonly number[]): Recording[] {
  const speech = fixtures()[0]?.samples.subarray(8000) ?? new Int16Array(0);
  return sampleCounts
    .flatMap((count) => [count - 1, count, count + 1])
    .map((count) => ({ name: `speech of ${count} samples`, samples: speech.subarray(0, count) }));
}

function firstLoudSample(samples: Int16Array): number {
  return samples.findIndex((sample) => Math.abs(sample) > 2000);
}

/** Little-endian bytes, as clients send them. */
export function pcmBytes(samples: Int16Array): Uint8Array {
  const bytes = new Uint8Array(2 * samples.length);
  const view = new DataView(bytes.buffer);
  for (const [i, sample] of samples.entries()) view.setInt16(2 * i, sample, true);
  return bytes;
}

/** Samples in [-1, 1] with silence behind them. */
export function withSilence(samples: Int16Array, silenceSamples: number): Float32Array {
  const padded = new Float32Array(samples.length + silenceSamples);
  for (const [i, sample] of samples.entries()) padded[i] = sample / 32_768;
  return padded;
}
