/** Makes the form that the service takes, of nearly everything. */
export const FFMPEG_COMMAND = 'ffmpeg -i IN -ar 16000 -ac 1 -c:a pcm_s16le OUT.wav';
export const CONVERT = `Convert it: ${FFMPEG_COMMAND}`;

/** What a file is that is no WAV, by its first bytes. */
export interface FileKind {
  /** As in "The file is AMR". */
  readonly name: string;
  /** What makes a WAV of it, as a sentence without its full stop. */
  readonly todo: string;
  /** ffmpeg reads it, and browsers read some of these. */
  readonly isConvertible: boolean;
}

const convertible = (name: string): FileKind => ({ name, todo: CONVERT, isConvertible: true });

const SILK: FileKind = {
  name: "SILK, a messenger's voice message",
  todo: `ffmpeg cannot read it: decode it with silk-v3-decoder first, then convert that: ${FFMPEG_COMMAND}`,
  isConvertible: false,
};
const BASE64: FileKind = { name: 'Base64 text', todo: 'Decode it first', isConvertible: false };

/** Where a signature stands, the signature, what it stands for. */
const SIGNATURES: readonly (readonly [atByte: number, signature: string, kind: FileKind])[] = [
  [0, '#!AMR', convertible('AMR')],
  [0, '#!SILK', SILK],
  // As WeChat writes it.
  [1, '#!SILK', SILK],
  [0, 'caff', convertible('CAF')],
  [8, 'AIFF', convertible('AIFF')],
  [8, 'AIFC', convertible('AIFF')],
  [0, 'ID3', convertible('MP3')],
  [0, '\x1aE\xdf\xa3', convertible('WebM or Matroska')],
  [0, 'OggS', convertible('Ogg, with Opus or Vorbis')],
  [0, 'fLaC', convertible('FLAC')],
  [4, 'ftyp', convertible('MP4 or M4A')],
  [8, 'AVI ', convertible('AVI')],
  [0, 'RF64', convertible('RF64')],
  [0, 'RIFX', convertible('RIFX')],
  [0, 'UklG', BASE64],
];

/** @param start the first 12 bytes of a file, or more. @returns undefined for what is not known here */
export function kindOfFile(start: Uint8Array): FileKind | undefined {
  const text = latin1(start, 0, 12);
  const found = SIGNATURES.find(([atByte, signature]) => text.startsWith(signature, atByte));
  return found?.[2] ?? mpegFrame(start);
}

/** A frame of MP3 or AAC without a tag in front (ISO 11172-3, 2.4.2.3; ISO 13818-7, 6.2). Bare samples near zero have the same first bits. */
function mpegFrame([first = 0, second = 0, third = 0]: Uint8Array): FileKind | undefined {
  if (first !== 0xff) return undefined;
  if ((second & 0xf6) === 0xf0) return convertible('AAC');
  const [version, layer] = [(second >> 3) & 3, (second >> 1) & 3];
  const [bitRate, sampleRate] = [third >> 4, (third >> 2) & 3];
  const isFrame = second >= 0xe0 && version !== 1 && layer !== 0 && bitRate !== 15 && sampleRate !== 3;
  return isFrame ? convertible('MP3') : undefined;
}

/** @returns so many bytes as the characters of the same numbers */
export function latin1(bytes: Uint8Array, from: number, count: number): string {
  return String.fromCharCode(...bytes.subarray(from, from + count));
}
