export type WavVerdict =
  | { readonly pcm: Buffer }
  | { readonly code: 'invalid_format' | 'empty_audio' | 'audio_too_long' };

interface Chunk {
  readonly id: string;
  readonly declared: number;
  /** What is there of the declared content. */
  readonly content: Buffer;
}

const STREAMING = 0x7fff_f000;
const EXTENSIBLE_PCM = '0100000000001000800000aa00389b71';

/**
 * What the interface and the design's WAV rules say about a file, written from those and not from the reader: RIFF chunks in any order, the first `fmt `
 * and the first `data` count, odd chunks are padded, data with a streaming size runs to the end of the file.
 */
export function wavVerdict(file: Buffer): WavVerdict {
  if (file.length === 0) return { code: 'empty_audio' };
  const invalid = { code: 'invalid_format' } as const;
  if (file.subarray(0, 4).toString('latin1') + file.subarray(8, 12).toString('latin1') !== 'RIFFWAVE')
    return invalid;
  const chunks = chunksOf(file, 12);
  const format = chunks.find(({ id }) => id === 'fmt ');
  const data = chunks.find(({ id }) => id === 'data');
  if (!format || !data || !isRightFormat(format)) return invalid;
  if (data.content.length < data.declared && data.declared < STREAMING) return invalid;
  if (data.content.length % 2 !== 0) return invalid;
  if (data.content.length === 0) return { code: 'empty_audio' };
  return data.content.length > 480_000 ? { code: 'audio_too_long' } : { pcm: data.content };
}

function chunksOf(file: Buffer, at: number): Chunk[] {
  if (file.length < at + 8) return [];
  const id = file.subarray(at, at + 4).toString('latin1');
  const declared = file.readUInt32LE(at + 4);
  const toEnd = id === 'data' && declared >= STREAMING;
  const size = toEnd ? file.length - at - 8 : declared;
  const found = { id, declared, content: file.subarray(at + 8, Math.min(file.length, at + 8 + size)) };
  return [found, ...chunksOf(file, at + 8 + size + (size & 1))];
}

function isRightFormat({ declared, content }: Chunk): boolean {
  if (content.length < declared || content.length < 16) return false;
  const code = content.readUInt16LE(0);
  const isPcm = code === 1 || (code === 0xfffe && isExtensiblePcm(content));
  const [channels, rateHz] = [content.readUInt16LE(2), content.readUInt32LE(4)];
  const [blockBytes, bits] = [content.readUInt16LE(12), content.readUInt16LE(14)];
  return isPcm && channels === 1 && rateHz === 16_000 && blockBytes === 2 && bits === 16;
}

function isExtensiblePcm(content: Buffer): boolean {
  if (content.length < 40) return false;
  const validBits = content.readUInt16LE(18);
  return (validBits === 0 || validBits === 16) && content.subarray(24, 40).toString('hex') === EXTENSIBLE_PCM;
}
