import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { messageOf } from '../../common/errors/errors.ts';
import { AsrError } from '../protocol/errors.ts';

const INSTALL = 'install it (apt install ffmpeg, brew install ffmpeg, winget install ffmpeg)';
/** `file:` keeps a name like "http:x" a name. The whitelist keeps a playlist from fetching addresses. */
const sourceOf = (path: string): string[] => ['-protocol_whitelist', 'file,pipe', '-i', `file:${path}`];
const PIPE = ['-protocol_whitelist', 'file,pipe', '-i', 'pipe:0'];
const TO = `-map 0:a:0 -ac 1 -ar ${SAMPLE_RATE_HZ} -f s16le pipe:1`.split(' ');

/**
 * Decodes the first audio track of a file with ffmpeg, as fast as the samples are taken.
 * @param input a path, or the file's bytes
 * @param finding what the file is. @param todo for one that ffmpeg cannot read. Both are sentences without their full stop
 * @returns 16 kHz mono samples
 * @throws AsrError `invalid_format` (also: no ffmpeg) or `empty_audio`; the signal's reason
 */
export async function* decodeWithFfmpeg(
  input: string | AsyncIterable<Uint8Array>,
  { finding, todo }: { readonly finding: string; readonly todo: string },
  signal: AbortSignal,
): AsyncGenerator<Int16Array, void, void> {
  signal.throwIfAborted();
  const source = typeof input === 'string' ? sourceOf(input) : PIPE;
  const ffmpeg = spawn('ffmpeg', ['-nostdin', '-v', 'error', ...source, ...TO], { windowsHide: true });
  const stop = (): unknown => ffmpeg.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const ended = whenEnded(ffmpeg);
    const complained = text(ffmpeg.stderr).catch(messageOf);
    feed(ffmpeg, input);
    let count = 0;
    for await (const samples of samplesOf(ffmpeg.stdout)) {
      count += samples.length;
      yield samples;
    }
    const how = await ended;
    signal.throwIfAborted();
    const failure = (problem: string) => new AsrError('invalid_format', `${finding}${problem}`);
    if (how === 'ENOENT')
      throw failure(`. ffmpeg would convert it, but is not installed: ${INSTALL}, then try again`);
    const complaint = (await complained).trim();
    if (complaint.includes('matches no streams'))
      throw new AsrError('empty_audio', `${finding}, and has no sound in it`);
    // Of a damaged file ffmpeg decodes what it can, says so, and exits with 0. That text would be incomplete.
    if (how !== 0 || complaint !== '') {
      // Without where in ffmpeg it was found: "[aist#0:0/mp3 @ 0x5603311e3f00] ".
      const said = complaint
        .split('\n')
        .at(-1)
        ?.replace(/\[[^\]]* @ 0x\w+\] /g, '');
      throw failure(`, and ffmpeg cannot read all of it: ${said || `it ended with ${how}`}. ${todo}`);
    }
    if (count === 0) throw new AsrError('empty_audio', 'The recording has no audio sample');
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/** How long a file is, in milliseconds, if ffprobe is there and knows. */
export function statedMs(path: string, signal: AbortSignal): Promise<number | undefined> {
  const asked = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', ...sourceOf(path)];
  return new Promise((resolve) => {
    execFile('ffprobe', asked, { signal, windowsHide: true }, (_, stdout) => {
      const seconds = Number(stdout.trim() || Number.NaN);
      resolve(seconds > 0 ? 1000 * seconds : undefined);
    });
  });
}

/** @returns the exit code, the signal that ended it, or the code of the error that kept it from starting */
async function whenEnded(child: ChildProcess): Promise<string | number> {
  try {
    const [code, by] = await once(child, 'close');
    return code ?? by;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error);
  }
}

function feed({ stdin }: ChildProcess, input: string | AsyncIterable<Uint8Array>): void {
  // ffmpeg may have enough before it has read everything.
  stdin?.on('error', () => {});
  if (stdin === null || typeof input === 'string') return void stdin?.end();
  Readable.from(input)
    .on('error', () => stdin.end())
    .pipe(stdin);
}

async function* samplesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<Int16Array, void, void> {
  let held: Buffer = Buffer.alloc(0);
  for await (const piece of bytes) {
    held = Buffer.concat([held, piece]);
    const decoded = held;
    held = held.subarray(held.length - (held.length % 2));
    yield Int16Array.from({ length: decoded.length >> 1 }, (_, index) => decoded.readInt16LE(2 * index));
  }
}
