import { CONVERT, FFMPEG_COMMAND, IF_BARE, kindOfFile, latin1 } from './file-kinds.ts';
import { damaged, WavError } from './wav-error.ts';
import { bytesPerBlock, readFormat, type WavFormat } from './wav-format.ts';

/** Where the samples of a WAV file are: whole blocks of `channels` interleaved samples, perhaps none. */
export interface Wav extends WavFormat {
  readonly startByte: number;
  readonly bytes: number;
}

/** A program that streams its output cannot know the size. It writes 0, or a size from here on (ffmpeg, SoX, arecord). */
const STREAMING_SIZE = 0x7fff_f000;
/** A size may be too large by so much: some programs count the headers in. */
const MAX_EXCESS_BYTES = 44;
/** If one of these stands behind audio of size 0, there really is no audio. */
const CHUNK_BEHIND = /^(?:fmt |data|LIST|id3 |ID3 |fact|bext|cue |smpl|JUNK|PAD )/;

/** true when the file says of itself that it is a WAV, readable or not. */
export const isWav = (file: Uint8Array): boolean =>
  latin1(file, 0, 4) === 'RIFF' && latin1(file, 8, 4) === 'WAVE';

/**
 * Finds and describes the samples of a WAV file. What counts is whether audio is missing, not whether the
 * header is tidy. It also reads chunks in any order, padding, `WAVE_FORMAT_EXTENSIBLE`, a wrong block align
 * or byte rate, an open size or one up to 44 bytes too large, and a part of a sample at the end. Behind the audio
 * any chunk may stand, but no second WAV, and not more audio than the header counts.
 * @throws WavError `invalid_format`, saying what was found; `empty_audio` for no byte at all
 */
export function readWav(file: Uint8Array): Wav {
  if (file.length === 0) throw new WavError('empty_audio', 'The file is empty');
  if (isText(file)) {
    const finding = 'The WAV file was turned into text, which damages it';
    throw new WavError('invalid_format', finding, 'Read and send it as bytes');
  }
  if (!isWav(file)) throw notWav(file);
  const { format, data } = findChunks(file);
  if (format === undefined) throw damaged('The WAV file has no fmt chunk');
  if (data === undefined) throw damaged('The WAV file has no data chunk');
  const followingBytes = file.length - data.startByte;
  // Checked before the format. Another program would read a file that is cut off, but only its first words.
  checkWhole(data.bytes, followingBytes);
  const steps = walkBehind(data, file.length);
  for (let step = steps.next(); !step.done; )
    step = steps.next(file.subarray(step.value, step.value + CHUNK_HEAD_BYTES));
  const described = readFormat(format);
  const bytes = Math.min(followingBytes, data.bytes ?? followingBytes);
  return { ...described, startByte: data.startByte, bytes: bytes - (bytes % bytesPerBlock(described)) };
}

/**
 * Describes a WAV file of which only the beginning is there.
 * @returns undefined while format or audio have not begun. `bytes`, the size of the audio, is undefined where
 * it goes on to the end.
 * @throws WavError `invalid_format`
 */
export function readWavStart(
  start: Uint8Array,
): (WavFormat & { readonly startByte: number; readonly bytes: number | undefined }) | undefined {
  if (start.length < 12) return undefined;
  if (!isWav(start)) throw notWav(start);
  const { format, data } = findChunks(start);
  // What stands behind the header says what a size of 0 means.
  if (format === undefined || data === undefined || start.length < data.startByte + 4) return undefined;
  // A format behind the audio may not be complete, and nothing could be done before it is.
  if (format.byteOffset > start.byteOffset + data.startByte) return undefined;
  return { ...readFormat(format), ...data };
}

/** @param announcedBytes undefined: not known. @throws WavError `invalid_format` when the end of the audio is missing */
export function checkWhole(announcedBytes: number | undefined, thereBytes: number): void {
  if (announcedBytes === undefined || announcedBytes - thereBytes <= MAX_EXCESS_BYTES) return;
  const finding = `The WAV file is cut off: it announces ${announcedBytes} bytes of audio and has ${thereBytes}`;
  throw new WavError('invalid_format', finding, 'Copy or download it again', 'truncated');
}

/** What `walkBehind` looks at in each place: a chunk's name, its size, and the form of a RIFF. */
export const CHUNK_HEAD_BYTES = 12;

/**
 * Walks over the chunks behind the audio. Files that were joined byte by byte, and a header that counts only its
 * first chunk, were answered with a text of their beginning.
 * @param bytes of the audio; undefined: it goes on to the end
 * @yields where it has to look. @param fileBytes length of the file
 * @throws WavError `invalid_format`
 */
export function* walkBehind(
  { startByte, bytes }: { readonly startByte: number; readonly bytes: number | undefined },
  fileBytes: number,
): Generator<number, void, Uint8Array> {
  if (bytes === undefined) return;
  let position = startByte + bytes + (bytes % 2);
  while (position + 8 <= fileBytes) {
    const head: Uint8Array = yield position;
    if (isWav(head)) {
      const finding = `The file is more than one WAV: behind the audio another begins at byte ${position}`;
      throw new WavError(
        'invalid_format',
        finding,
        'Send them one by one, or join them: sox ONE.wav TWO.wav OUT.wav',
      );
    }
    const size = new DataView(head.buffer, head.byteOffset).getUint32(4, true);
    position += 8 + size + (size % 2);
  }
  const behindBytes = fileBytes - startByte - bytes;
  // The last chunk's padding may be missing, and a few bytes may follow that begin no chunk.
  if (position <= fileBytes + 1 || behindBytes <= bytes) return;
  const finding = `The WAV file counts ${bytes} bytes of audio, and ${behindBytes} more follow that are no chunk`;
  throw new WavError(
    'invalid_format',
    finding,
    `If they are audio: ${FFMPEG_COMMAND.replace('-i', '-ignore_length 1 -i')}`,
  );
}

function notWav(file: Uint8Array): WavError {
  const start = Array.from(file.subarray(0, 4), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const kind = kindOfFile(file);
  const finding = kind
    ? `The file is ${kind.name}, not WAV`
    : `The file is not WAV: it begins with the bytes ${start}`;
  if (kind === undefined) return new WavError('invalid_format', finding, `${CONVERT}. ${IF_BARE}`, 'foreign');
  return new WavError('invalid_format', finding, kind.todo, kind.todo === CONVERT ? 'foreign' : 'other');
}

/**
 * Whether the file was read or sent as a string. Then it has grown at each byte over 127, and its fields are
 * elsewhere. An intact file is no UTF-8.
 */
function isText(file: Uint8Array): boolean {
  if (latin1(file, 0, 4) !== 'RIFF') return false;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(file).length < file.length;
  } catch {
    return false;
  }
}

/** The first of each kind counts. */
function findChunks(file: Uint8Array) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let format: DataView | undefined;
  /** `bytes` undefined: to the end of the file. */
  let data: { readonly startByte: number; readonly bytes: number | undefined } | undefined;
  for (let position = 12; position + 8 <= file.length && !(format && data); ) {
    const id = latin1(file, position, 4);
    const declaredBytes = view.getUint32(position + 4, true);
    const startByte = position + 8;
    if (id === 'fmt ' && format === undefined) {
      const bytes = Math.min(declaredBytes, file.length - startByte);
      format = new DataView(file.buffer, file.byteOffset + startByte, bytes);
    } else if (id === 'data' && data === undefined) {
      const isUnknown = declaredBytes === 0 && !CHUNK_BEHIND.test(latin1(file, startByte, 4));
      if (isUnknown || declaredBytes >= STREAMING_SIZE) {
        data = { startByte, bytes: undefined };
        break;
      }
      data = { startByte, bytes: declaredBytes };
    }
    position = startByte + declaredBytes + (declaredBytes % 2);
  }
  return { format, data };
}
