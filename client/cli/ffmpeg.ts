import { type ExecFileException, execFile } from 'node:child_process';
import { MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { AsrError } from '../protocol/errors.ts';

/** A little more than is taken, so that "too long" is seen without decoding a film. */
const DECODED_SECONDS = 16;
const TIMEOUT_MS = 60_000;
const INSTALL = 'install it (apt install ffmpeg, brew install ffmpeg, winget install ffmpeg)';

/**
 * Decodes the first audio track of a file with ffmpeg.
 * @param input a path, or the file's bytes
 * @param finding what the file is. @param todo for one that ffmpeg cannot read. Both are sentences without their full stop
 * @returns 16 kHz mono samples
 * @throws AsrError `invalid_format` (also: no ffmpeg), `empty_audio` or `audio_too_long`; the signal's reason
 */
export async function decodeWithFfmpeg(
  input: string | Uint8Array,
  { finding, todo }: { readonly finding: string; readonly todo: string },
  signal: AbortSignal,
): Promise<Int16Array> {
  const { error, decoded, complaint } = await run(input, signal);
  signal.throwIfAborted();
  const failure = (problem: string) => new AsrError('invalid_format', `${finding}${problem}`);
  if (error?.code === 'ENOENT')
    throw failure(`. ffmpeg would convert it, but is not installed: ${INSTALL}, then try again`);
  if (complaint.includes('matches no streams'))
    throw new AsrError('empty_audio', `${finding}, and has no sound in it`);
  // Of a damaged file ffmpeg decodes what it can, says so, and exits with 0. That text would be incomplete.
  if (error || complaint !== '') {
    // Without where in ffmpeg it was found: "[aist#0:0/mp3 @ 0x5603311e3f00] ".
    const said = complaint
      .split('\n')
      .at(-1)
      ?.replace(/\[[^\]]* @ 0x\w+\] /g, '');
    const reason = said || `it ended with ${error?.code ?? error?.signal}`;
    throw failure(`, and ffmpeg cannot read all of it: ${reason}. ${todo}`);
  }
  const samples = new Int16Array(Math.floor(decoded.length / 2));
  for (let index = 0; index < samples.length; index += 1) samples[index] = decoded.readInt16LE(2 * index);
  if (samples.length === 0) throw new AsrError('empty_audio', 'The recording has no audio sample');
  if (samples.length > MAX_RECORDING_SAMPLES) {
    const message = 'The recording is longer than 15 s; at most 15 s are taken. Split it';
    throw new AsrError('audio_too_long', message);
  }
  return samples;
}

interface Run {
  readonly error: ExecFileException | null;
  readonly decoded: Buffer;
  /** What it said on standard error. */
  readonly complaint: string;
}

function run(input: string | Uint8Array, signal: AbortSignal): Promise<Run> {
  const isPath = typeof input === 'string';
  // `file:` keeps a name like "http:x" a name. The whitelist keeps a playlist from fetching addresses.
  const source = isPath ? `file:${input}` : 'pipe:0';
  const from = ['-nostdin', '-v', 'error', '-protocol_whitelist', 'file,pipe', '-i', source];
  const to = `-map 0:a:0 -t ${DECODED_SECONDS} -ac 1 -ar ${SAMPLE_RATE_HZ} -f s16le pipe:1`.split(' ');
  return new Promise((resolve) => {
    const options = { encoding: 'buffer', timeout: TIMEOUT_MS, signal, windowsHide: true } as const;
    const ffmpeg = execFile('ffmpeg', [...from, ...to], options, (error, decoded, complaint) =>
      resolve({ error, decoded, complaint: complaint.toString().trim() }),
    );
    // ffmpeg may have enough before it has read everything.
    ffmpeg.stdin?.on('error', () => {});
    ffmpeg.stdin?.end(isPath ? undefined : input);
  });
}
