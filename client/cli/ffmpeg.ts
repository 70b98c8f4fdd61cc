import { spawn } from 'node:child_process';
import { MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { AsrError } from '../protocol/errors.ts';

/** A little more than is taken, so that "too long" is seen without decoding a film. */
const DECODED_SECONDS = 16;
const TIMEOUT_MS = 60_000;
const INSTALL = 'install it (apt install ffmpeg, brew install ffmpeg, winget install ffmpeg)';

/**
 * Decodes the first audio track of a file with ffmpeg.
 * @param input a path, or the file's bytes
 * @param finding what the file is, as a sentence without its full stop
 * @returns 16 kHz mono samples
 * @throws AsrError `invalid_format` (also: no ffmpeg), `empty_audio` or `audio_too_long`; the signal's reason when aborted.
 */
export async function decodeWithFfmpeg(
  input: string | Uint8Array,
  finding: string,
  signal: AbortSignal,
): Promise<Int16Array> {
  // `file:` keeps a name like "http:x" a name. The whitelist keeps a playlist from fetching addresses.
  const source = typeof input === 'string' ? `file:${input}` : 'pipe:0';
  const from = ['-nostdin', '-v', 'error', '-protocol_whitelist', 'file,pipe', '-i', source];
  const to = `-map 0:a:0 -t ${DECODED_SECONDS} -ac 1 -ar ${SAMPLE_RATE_HZ} -f s16le pipe:1`.split(' ');
  const stdin = typeof input === 'string' ? undefined : input;
  const decoded = await run([...from, ...to], stdin, finding, signal);
  const samples = new Int16Array(Math.floor(decoded.length / 2));
  for (let index = 0; index < samples.length; index += 1) samples[index] = decoded.readInt16LE(2 * index);
  if (samples.length === 0) throw new AsrError('empty_audio', 'The recording has no audio sample');
  if (samples.length > MAX_RECORDING_SAMPLES)
    throw new AsrError(
      'audio_too_long',
      'The recording is longer than 15 s; at most 15 s are taken. Split it',
    );
  return samples;
}

function run(
  args: readonly string[],
  stdin: Uint8Array | undefined,
  finding: string,
  signal: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const ffmpeg = spawn('ffmpeg', args, { signal, windowsHide: true });
    // Not spawn's own `timeout`: its timer outlives a program that could not be started.
    const timer = setTimeout(() => ffmpeg.kill(), TIMEOUT_MS);
    const decoded: Buffer[] = [];
    let complaint = '';
    ffmpeg.stdout.on('data', (piece: Buffer) => decoded.push(piece));
    ffmpeg.stderr.on('data', (piece: Buffer) => {
      complaint = (complaint + piece.toString()).slice(-2_000);
    });
    ffmpeg.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (signal.aborted) return reject(signal.reason);
      const message =
        error.code === 'ENOENT'
          ? `${finding}. ffmpeg would convert it, but is not installed: ${INSTALL}, then try again`
          : `${finding}, and ffmpeg cannot be started: ${error.message}`;
      reject(new AsrError('invalid_format', message));
    });
    ffmpeg.on('close', (code) => {
      clearTimeout(timer);
      // ffmpeg decodes what it can of a damaged file, says so, and exits with 0. Noise, or a part of the words, would pass for all of them.
      if (code === 0 && complaint === '') return resolve(Buffer.concat(decoded));
      if (complaint.includes('matches no streams'))
        return reject(new AsrError('empty_audio', `${finding}, and has no sound in it`));
      const ending = code === null ? `stopped after ${TIMEOUT_MS / 1000} s` : `exit code ${code}`;
      // Without where in ffmpeg it was found: "[aist#0:0/mp3 @ 0x5603311e3f00] ".
      const reason =
        complaint
          .trim()
          .split('\n')
          .at(-1)
          ?.replace(/\[[^\]]* @ 0x\w+\] /g, '') || ending;
      const message = `${finding}, and ffmpeg cannot read all of it: ${reason}. Copy or export it again`;
      reject(new AsrError('invalid_format', message));
    });
    // ffmpeg may have enough before it has read everything.
    ffmpeg.stdin.on('error', () => {});
    ffmpeg.stdin.end(stdin);
  });
}
