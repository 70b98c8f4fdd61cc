import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { AsrError } from '../protocol/errors.ts';
import { joined } from './frames.ts';
import { Resampler } from './resampler.ts';

const LOWEST_RATE_HZ = 8_000;
const HIGHEST_RATE_HZ = 384_000;

/**
 * Turns sound of any sample rate into 16 kHz, mono, 16 bits. It is continuous, however the sound is cut into
 * pieces. At 16 kHz, samples that came from 16 bits are the same bits again.
 */
export class PcmConverter {
  readonly #resampler: Resampler | undefined;

  /** @throws AsrError `invalid_format` for a sample rate that is no whole number from 8,000 to 384,000 */
  constructor(rateHz: number) {
    if (!Number.isInteger(rateHz) || rateHz < LOWEST_RATE_HZ || rateHz > HIGHEST_RATE_HZ)
      throw new AsrError('invalid_format', `a sample rate of ${rateHz} Hz; from 8000 to 384000 Hz are taken`);
    this.#resampler = rateHz === SAMPLE_RATE_HZ ? undefined : new Resampler(rateHz);
  }

  /** @param mono samples in [-1, 1]; what is louder is limited. @returns the samples that they complete */
  push(mono: Float32Array): Int16Array {
    return quantize(this.#resampler?.push(mono) ?? mono);
  }

  /** What the filter still holds; call once, at the end. */
  flush(): Int16Array {
    return quantize(this.#resampler?.flush() ?? new Float32Array(0));
  }
}

/** `PcmConverter` for a whole recording. @throws AsrError as that does */
export function convert(mono: Float32Array, rateHz: number): Int16Array {
  const converter = new PcmConverter(rateHz);
  return joined([converter.push(mono), converter.flush()]);
}

function quantize(samples: Float32Array): Int16Array {
  const pcm = new Int16Array(samples.length);
  for (const [index, sample] of samples.entries())
    pcm[index] = Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768)));
  return pcm;
}
