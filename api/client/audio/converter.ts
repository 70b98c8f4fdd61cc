import { Resampler } from '../../page/resampler.ts';
import { AsrError } from '../errors.ts';
import { SAMPLE_RATE_HZ } from '../wire.ts';
import { toMono } from './samples.ts';
import type { WavFormat } from './wav.ts';

const LOWEST_RATE_HZ = 8_000;
const HIGHEST_RATE_HZ = 384_000;

/**
 * Turns WAV samples, piece by piece, into what the service takes: 16 kHz, mono, 16 bits. Channels are averaged, other rates go through a low-pass
 * polyphase resampler; samples that are already so stay bit by bit what they are.
 */
export class PcmConverter {
  readonly #format: WavFormat;
  readonly #resampler: Resampler | undefined;

  /** @throws AsrError `invalid_format` for a sample rate out of range */
  constructor(format: WavFormat) {
    const { rateHz } = format;
    if (rateHz < LOWEST_RATE_HZ || rateHz > HIGHEST_RATE_HZ)
      throw new AsrError('invalid_format', `a sample rate of ${rateHz} Hz; from 8000 to 384000 Hz are taken`);
    this.#format = format;
    this.#resampler = rateHz === SAMPLE_RATE_HZ ? undefined : new Resampler(rateHz);
  }

  /** @param data whole blocks of all channels */
  push(data: DataView): Int16Array {
    const mono = toMono({ ...this.#format, data });
    return quantize(this.#resampler?.push(mono) ?? mono);
  }

  /** What the filter still holds; call once, at the end. */
  flush(): Int16Array {
    return quantize(this.#resampler?.flush() ?? new Float32Array(0));
  }
}

function quantize(samples: Float32Array): Int16Array {
  const pcm = new Int16Array(samples.length);
  for (const [index, sample] of samples.entries())
    pcm[index] = Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768)));
  return pcm;
}
