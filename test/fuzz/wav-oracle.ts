export type WavVerdict =
  | { readonly pcm: Buffer }
  | { readonly code: 'invalid_format' | 'empty_audio' | 'audio_too_long' };

interface Chunk {
  readonly id: string;
  readonly declared: number;
  /** What is there of the declared content. */
  readonly content: Buffer;
  /** Its size says nothing: it runs to the end of the file. */
  readonly isOpen: boolean;
  /** Where its declared content ends in the file. */
  readonly endByte: number;
}

const STREAMING = 0x7fff_f000;
const MOST_TOO_MUCH = 44;
const BEHIND_NO_AUDIO = /^(fmt |data|LIST|id3 |ID3 |fact|bext|cue |smpl|JUNK|PAD )/;
const EXTENSIBLE_PCM = '0100000000001000800000aa00389b71';

/**
 * What the interface and the design's WAV rules say about a file, written from those and not from the reader:
 * RIFF chunks in any order, the first `fmt ` and the first `data` count, odd chunks are padded, data with a
 * streaming size runs to the end of the file, data may be 44 bytes shorter than it says. Behind the data no other
 * WAV may stand, and no more bytes than it has that are no chunks.
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
  if (!data.isOpen && data.content.length + MOST_TOO_MUCH < data.declared) return invalid;
  const behind = chunks.slice(chunks.indexOf(data) + 1);
  if (behind.some(({ id, content }) => id === 'RIFF' && content.toString('latin1', 0, 4) === 'WAVE'))
    return invalid;
  const last = behind.at(-1);
  const isBroken = last !== undefined && last.endByte + (last.declared % 2) > file.length + 1;
  if (isBroken && file.length - data.endByte > data.declared) return invalid;
  const pcm = data.content.subarray(0, 2 * Math.floor(data.content.length / 2));
  if (pcm.length === 0) return { code: 'empty_audio' };
  return pcm.length > 480_000 ? { code: 'audio_too_long' } : { pcm };
}

function chunksOf(file: Buffer, at: number, hasData = false): Chunk[] {
  if (file.length < at + 8) return [];
  const id = file.subarray(at, at + 4).toString('latin1');
  const declared = file.readUInt32LE(at + 4);
  const rest = file.subarray(at + 8);
  const isAudio = declared === 0 && !BEHIND_NO_AUDIO.test(rest.toString('latin1', 0, 4));
  const isOpen = id === 'data' && !hasData && (declared >= STREAMING || isAudio);
  const content = isOpen ? rest : rest.subarray(0, declared);
  const next = isOpen ? [] : chunksOf(file, at + 8 + declared + (declared % 2), hasData || id === 'data');
  return [{ id, declared, content, isOpen, endByte: at + 8 + declared }, ...next];
}

function isRightFormat({ content }: Chunk): boolean {
  if (content.length < 16) return false;
  const code = content.readUInt16LE(0);
  const isPcm = code === 1 || (code === 0xfffe && isExtensiblePcm(content));
  const [channels, rateHz] = [content.readUInt16LE(2), content.readUInt32LE(4)];
  const bits = content.readUInt16LE(14);
  return isPcm && channels === 1 && rateHz === 16_000 && bits > 8 && bits <= 16;
}

function isExtensiblePcm(content: Buffer): boolean {
  return content.length >= 40 && content.subarray(24, 40).toString('hex') === EXTENSIBLE_PCM;
}
