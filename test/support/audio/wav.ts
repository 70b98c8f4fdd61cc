/** Makes WAV files, right ones and wrong ones. Sizes default to the truth; give them to lie. */
export interface WavOptions {
  readonly formatCode?: number;
  readonly channels?: number;
  readonly sampleRateHz?: number;
  readonly bits?: number;
  readonly blockBytes?: number;
  readonly byteRate?: number;
  /** What follows in the `fmt ` chunk. */
  readonly extension?: Buffer;
  readonly dataBytes?: number;
  readonly riffBytes?: number;
  /** Chunks between `fmt ` and `data`. */
  readonly before?: readonly Buffer[];
  /** Chunks behind `data`. */
  readonly after?: readonly Buffer[];
}

export function wavFile(pcm: Buffer, options: WavOptions = {}): Buffer {
  const { formatCode = 1, channels = 1, sampleRateHz = 16_000, bits = 16, before = [], after = [] } = options;
  const format = Buffer.alloc(16);
  format.writeUInt16LE(formatCode, 0);
  format.writeUInt16LE(channels, 2);
  format.writeUInt32LE(sampleRateHz, 4);
  const { blockBytes = Math.ceil((channels * bits) / 8) } = options;
  format.writeUInt32LE(options.byteRate ?? sampleRateHz * blockBytes, 8);
  format.writeUInt16LE(blockBytes, 12);
  format.writeUInt16LE(bits, 14);
  const fmt = chunk('fmt ', Buffer.concat([format, options.extension ?? Buffer.alloc(0)]));
  const chunks = [fmt, ...before, chunk('data', pcm, options.dataBytes), ...after];
  return riff(chunks, options.riffBytes);
}

export function riff(chunks: readonly Buffer[], riffBytes?: number): Buffer {
  const body = Buffer.concat(chunks);
  const head = Buffer.from('RIFF\0\0\0\0WAVE', 'latin1');
  head.writeUInt32LE(riffBytes ?? body.length + 4, 4);
  return Buffer.concat([head, body]);
}

/** @param declaredBytes the size that the chunk says it has */
export function chunk(id: string, content: Buffer, declaredBytes = content.length): Buffer {
  const head = Buffer.alloc(8);
  head.write(id, 0, 'latin1');
  head.writeUInt32LE(declaredBytes, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}
