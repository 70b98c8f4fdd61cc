import { BYTES_PER_SAMPLE } from '../../../common/audio/limits.ts';

/** Samples converted at a time; the size changes nothing but memory. */
export const BLOCK_SAMPLES = 3200;
const FULL_SCALE = 32_768;

/**
 * Converts samples block by block.
 * @param pcm 16-bit little-endian samples; an even number of bytes.
 * @returns blocks of at most `BLOCK_SAMPLES` samples in [-1, 1], each valid until the next is asked for.
 */
export function* sampleBlocks(pcm: Uint8Array): Generator<Float32Array> {
  const view = new DataView(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  const totalSamples = pcm.byteLength / BYTES_PER_SAMPLE;
  const buffer = new Float32Array(Math.min(BLOCK_SAMPLES, totalSamples));
  for (let start = 0; start < totalSamples; start += BLOCK_SAMPLES) {
    const block = buffer.subarray(0, Math.min(BLOCK_SAMPLES, totalSamples - start));
    for (let i = 0; i < block.length; i++)
      block[i] = view.getInt16(BYTES_PER_SAMPLE * (start + i), true) / FULL_SCALE;
    yield block;
  }
}
