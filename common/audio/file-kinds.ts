/** Turns nearly everything into the form that the service takes. */
export const FFMPEG_COMMAND = 'ffmpeg -i IN -ar 16000 -ac 1 -c:a pcm_s16le OUT.wav';
export const CONVERT = `Convert it: ${FFMPEG_COMMAND}`;
/** For a recording that is right, and only too long for one request. */
export const SHORTEN = 'Shorten it to 15 s, or let asr-client cut it';
/** For a file that nobody knows by its first bytes. */
export const IF_BARE =
  'If it is bare samples without a header: ffmpeg -f s16le -ar 16000 -ac 1 -i IN OUT.wav';

/** What a file that is not a WAV is instead, by its first bytes. */
export interface FileKind {
  /** As in "The file is AMR". */
  readonly name: string;
  /** What makes a WAV of it, as a sentence without its full stop: CONVERT where ffmpeg reads it. */
  readonly todo: string;
}

const SILK: FileKind = {
  name: "SILK, a messenger's voice message",
  todo: `ffmpeg cannot read it: decode it with silk-v3-decoder first, then convert that: ${FFMPEG_COMMAND}`,
};

/** Where a signature stands, the signature, what it stands for: a name alone is a kind that ffmpeg reads. */
const SIGNATURES: readonly (readonly [atByte: number, signature: string, kind: FileKind | string])[] = [
  [0, '#!AMR', 'AMR'],
  [0, '#!SILK', SILK],
  // As WeChat writes it.
  [1, '#!SILK', SILK],
  [0, 'caff', 'CAF'],
  [8, 'AIFF', 'AIFF'],
  [8, 'AIFC', 'AIFF'],
  [0, 'ID3', 'MP3'],
  [0, '\x1aE\xdf\xa3', 'WebM or Matroska'],
  [0, 'OggS', 'Ogg, with Opus or Vorbis'],
  [0, 'fLaC', 'FLAC'],
  [4, 'ftyp', 'MP4 or M4A'],
  [8, 'AVI ', 'AVI'],
  [0, 'RF64', 'RF64'],
  [0, 'RIFX', 'RIFX'],
  [0, 'UklG', { name: 'Base64 text', todo: 'Decode it first' }],
];

/** @param start the first 12 bytes of a file, or more. @returns undefined for what is not known here */
export function kindOfFile(start: Uint8Array): FileKind | undefined {
  const text = latin1(start, 0, 12);
  const found = SIGNATURES.find(([atByte, signature]) => text.startsWith(signature, atByte));
  const kind = found?.[2] ?? mpegFrame(start);
  return typeof kind === 'string' ? { name: kind, todo: CONVERT } : kind;
}

/**
 * A frame of MP3 or AAC without a tag in front (ISO 11172-3, 2.4.2.3; ISO 13818-7, 6.2). Bare samples near
 * zero have the same first bits.
 */
function mpegFrame([first = 0, second = 0, third = 0]: Uint8Array): string | undefined {
  if (first !== 0xff) return undefined;
  if ((second & 0xf6) === 0xf0) return 'AAC';
  const [version, layer] = [(second >> 3) & 3, (second >> 1) & 3];
  const [bitRate, sampleRate] = [third >> 4, (third >> 2) & 3];
  const isFrame = second >= 0xe0 && version !== 1 && layer !== 0 && bitRate !== 15 && sampleRate !== 3;
  return isFrame ? 'MP3' : undefined;
}

/** @returns `count` bytes as the characters of the same numbers */
export function latin1(bytes: Uint8Array, from: number, count: number): string {
  return String.fromCharCode(...bytes.subarray(from, from + count));
}
