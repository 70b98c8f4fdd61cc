import {
  bytesPerBlock,
  SAMPLE_BYTES,
  type SampleEncoding,
  type WavFormat,
} from '../../common/audio/wav-format.ts';

/** Reads one sample as a number in [-1, 1) (floating point: as it is, not limited). */
type Reader = (data: DataView, offset: number) => number;

const READERS: Readonly<Record<SampleEncoding, Reader>> = {
  uint8: (data, offset) => (data.getUint8(offset) - 128) / 128,
  int16: (data, offset) => data.getInt16(offset, true) / 32_768,
  int24: (data, offset) => (data.getInt16(offset + 1, true) * 256 + data.getUint8(offset)) / 8_388_608,
  int32: (data, offset) => data.getInt32(offset, true) / 2_147_483_648,
  float32: (data, offset) => finite(data.getFloat32(offset, true)),
  float64: (data, offset) => finite(data.getFloat64(offset, true)),
  'a-law': (data, offset) => aLaw(data.getUint8(offset)),
  'mu-law': (data, offset) => muLaw(data.getUint8(offset)),
};

const finite = (value: number): number => (Number.isFinite(value) ? value : 0);

/** ITU-T G.711, A-law: every second bit inverted, 13 bits of range. */
function aLaw(byte: number): number {
  const bits = byte ^ 0x55;
  const exponent = (bits >> 4) & 7;
  const mantissa = ((bits & 15) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1);
  return (bits & 0x80 ? magnitude : -magnitude) / 32_768;
}

/** ITU-T G.711, μ-law: all bits inverted, 14 bits of range, bias 33 (132 in 16 bits). */
function muLaw(byte: number): number {
  const bits = ~byte & 0xff;
  const magnitude = ((((bits & 15) << 3) + 132) << ((bits >> 4) & 7)) - 132;
  return (bits & 0x80 ? -magnitude : magnitude) / 32_768;
}

/** Of the loudest channel's power. Below it, the channels cancel each other, or most of them are empty. */
const SILENT_MEAN = 0.01;

/**
 * Makes one channel of all, whole or in pieces. It is their mean, as long as that can be heard: a recorder that
 * wires a microphone to both inputs, one of them inverted, gives two channels whose mean is silent. Then it is
 * the loudest of them.
 */
export class Downmix {
  #meanPower = 0;
  #powers: number[] = [];
  /** Kept once it is needed: two that are equally loud would take turns. */
  #loudest: number | undefined;

  /** @param read gives a sample of a channel, in [-1, 1). @returns as many samples as there are blocks */
  push(blocks: number, channels: number, read: (block: number, channel: number) => number): Float32Array {
    const mono = new Float32Array(blocks);
    const powers = Array.from({ length: channels }, (_, channel) => this.#powers[channel] ?? 0);
    for (let block = 0; block < blocks; block += 1) {
      let sum = 0;
      for (let channel = 0; channel < channels; channel += 1) {
        const sample = read(block, channel);
        sum += sample;
        powers[channel] = (powers[channel] ?? 0) + sample * sample;
      }
      const mean = sum / channels;
      mono[block] = mean;
      this.#meanPower += mean * mean;
    }
    this.#powers = powers;
    const most = Math.max(...powers);
    if (this.#meanPower >= SILENT_MEAN * most) return mono;
    this.#loudest ??= powers.indexOf(most);
    const loudest = this.#loudest;
    return mono.map((_, block) => read(block, loudest));
  }
}

/** @param samples whole blocks. @returns a number in [-1, 1) for each block */
export function toMono(format: WavFormat, samples: Uint8Array, downmix = new Downmix()): Float32Array {
  const { channels, encoding } = format;
  const data = new DataView(samples.buffer, samples.byteOffset, samples.byteLength);
  const read = READERS[encoding];
  const sampleBytes = SAMPLE_BYTES[encoding];
  return downmix.push(samples.byteLength / bytesPerBlock(format), channels, (block, channel) =>
    read(data, (block * channels + channel) * sampleBytes),
  );
}
