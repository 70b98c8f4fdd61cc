import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { CONVERT, SHORTEN } from '../../common/audio/file-kinds.ts';
import { CHANNELS, MAX_MULTIPART_BYTES, MAX_WAV_BYTES, SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { readPcm16 } from '../../common/audio/pcm16.ts';
import { readWavStart } from '../../common/audio/wav.ts';
import { ClientGone, FormFailure, messageOf, ServiceFailure } from '../../common/errors/errors.ts';
import { afterSilence } from '../../common/time/timer.ts';

const tooLarge = (what: string, limitBytes: number, todo: string): ServiceFailure =>
  new ServiceFailure(
    'upload_too_large',
    `${what}; at most ${limitBytes} are taken, enough for 15 s of 16 kHz, mono, 16 bits. ${todo}`,
  );
/** For a body of which nothing else is known. */
const SHORTEN_OR_CONVERT = `${SHORTEN}, which also converts other sample rates and channels`;

/** A file of the right form is only too long. */
function todoFor(wav: Buffer): string {
  try {
    const { encoding, channels, rateHz } = readWavStart(wav) ?? {};
    if (encoding === 'int16' && channels === CHANNELS && rateHz === SAMPLE_RATE_HZ) return SHORTEN;
  } catch {
    // No WAV that can be read: it has to be converted, too.
  }
  return `Another sample rate or more channels make a file larger. ${CONVERT}`;
}

/**
 * The length that a request declares is refused before a byte of the body is read.
 * @throws ServiceFailure `upload_too_large`
 */
export function checkDeclaredLength(contentLength: string | undefined): void {
  if (contentLength !== undefined && Number(contentLength) > MAX_MULTIPART_BYTES) {
    throw tooLarge(`the request body has ${contentLength} bytes`, MAX_MULTIPART_BYTES, SHORTEN_OR_CONVERT);
  }
}

/**
 * Whether the client waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1): a refusal
 * then saves it from sending it at all.
 */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && /\b100-continue\b/i.test(headers.expect ?? '');
}

/**
 * Reads a request body whole, counting its raw bytes. It is put together as it comes: kept one by one, pieces
 * of a byte (chunked encoding allows them) take some hundred times the memory that the limit is for.
 * @param timeoutMs how long that may take
 * @throws ServiceFailure `upload_too_large` or `timeout`; ClientGone
 */
export function readBody(request: IncomingMessage, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const declared = request.headers['content-length'];
    const body = Buffer.allocUnsafe(Math.min(Number(declared ?? MAX_MULTIPART_BYTES), MAX_MULTIPART_BYTES));
    let bytes = 0;
    const stop = (settle: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      arrived();
      settle();
    };
    const onData = (chunk: Buffer): void => {
      const start = bytes;
      bytes += chunk.length;
      if (bytes > MAX_MULTIPART_BYTES) {
        const what = `the request body has ${bytes} bytes or more`;
        stop(() => reject(tooLarge(what, MAX_MULTIPART_BYTES, SHORTEN_OR_CONVERT)));
        return;
      }
      chunk.copy(body, start);
    };
    const onEnd = (): void => stop(() => resolve(body.subarray(0, bytes)));
    const onGone = (): void =>
      stop(() => reject(new ClientGone(`the client hung up after ${bytes} bytes of the body`)));
    const onTimeout = (): void => {
      // A body that is shorter than its client counted ends here, too, however fast the network is.
      const share = declared === undefined ? bytes : `${bytes} of ${declared}`;
      const msg = `the upload was not complete in time; ${share} bytes arrived`;
      stop(() => reject(new ServiceFailure('timeout', msg)));
    };
    const arrived = afterSilence(timeoutMs, onTimeout);
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
    // The client may have hung up during the checks before this; then no event follows.
    if (request.destroyed) onGone();
  });
}

const missingFile = (msg: string): FormFailure =>
  new FormFailure({ loc: ['body', 'file'], msg, type: 'missing' });
/**
 * A form that cannot be read is mostly a right one behind a Content-Type set by hand, without the boundary
 * that the HTTP library chose or with another.
 */
const malformed = (msg: string): FormFailure =>
  new FormFailure({
    loc: ['body'],
    msg: `${msg}; leave the form and its Content-Type to your HTTP library, which sets the boundary`,
    type: 'multipart_invalid',
  });

/**
 * Some HTTP libraries compress a body when told to. Other names stand before bodies as they are ("utf-8").
 * @throws FormFailure
 */
export function expectUncompressed(contentEncoding: string | undefined): void {
  if (contentEncoding === undefined || !/\b(gzip|deflate|br|zstd|compress)\b/i.test(contentEncoding)) return;
  const msg = `the body is compressed (Content-Encoding "${contentEncoding}"); send it as it is`;
  throw new FormFailure({ loc: ['header', 'content-encoding'], msg, type: 'content_encoding' });
}

export function isFormType(contentType: string | undefined): contentType is string {
  return contentType !== undefined && /^multipart\/form-data[ \t]*(;|$)/i.test(contentType);
}

/** Lets the routes of this instance read forms, of any number of parts: the body as a whole is bounded. */
export async function acceptForms(app: FastifyInstance): Promise<void> {
  await app.register(multipart, {
    limits: { parts: Number.POSITIVE_INFINITY },
    // Over its mark a part makes the parser wait for a reader, and one that it skips (no name, no
    // Content-Disposition) has none: it would wait for ever.
    fileHwm: MAX_MULTIPART_BYTES + 1,
    // RFC 7578 asks for no file name. A part without one is text where it says so or says nothing, which the
    // parser has as text/plain.
    isPartAFile: (_name, contentType, fileName) => fileName !== undefined || contentType !== 'text/plain',
  });
}

/**
 * What the parser is given at once; then other work has its turn. Beside a live stream eight bodies of 60,000
 * empty parts, each as one piece, kept the process for up to 4.6 s: the slot ran out. In slices the longest
 * wait was 0.05 s.
 */
const SLICE_BYTES = 16_384;

async function* slicesOf(body: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < body.length; start += SLICE_BYTES) {
    yield body.subarray(start, start + SLICE_BYTES);
    await nextTurn();
  }
}

/** RFC 2046, 5.1.1: blanks may stand behind a boundary. The parser would pass over the part that follows. */
function withoutPadding(body: Buffer, contentType: string): Buffer {
  const line = `--${/;\s*boundary="?([^";]+)/i.exec(contentType)?.[1]?.trim()}`;
  if (!body.includes(`${line} `) && !body.includes(`${line}\t`)) return body;
  const padded = new RegExp(`((?:^|\\r\\n)${line.replace(/\W/g, '\\$&')})[ \\t]+(?=\\r\\n)`, 'g');
  return Buffer.from(body.toString('latin1').replace(padded, '$1'), 'latin1');
}

/**
 * Takes the first file part named `file` out of a multipart/form-data body. All other parts are ignored.
 * @param request of a route in an instance that accepts forms
 * @throws FormFailure (422) when the body is no such form or has no such part; ServiceFailure `upload_too_large`
 * for a file over 484,096 bytes
 */
export async function readUploadForm(
  request: FastifyRequest,
  body: Buffer,
  contentType: string | undefined,
): Promise<Buffer> {
  if (!isFormType(contentType)) {
    const found =
      contentType === undefined ? 'there is no Content-Type' : `the Content-Type is "${contentType}"`;
    const msg = `${found}; send multipart/form-data with a part named "file"`;
    throw new FormFailure({ loc: ['header', 'content-type'], msg, type: 'content_type' });
  }
  // The plugin reads a request's stream by itself and counts only parts: it gets the body that was counted.
  const slices = slicesOf(withoutPadding(body, contentType));
  const raw = Object.assign(Readable.from(slices), { headers: { 'content-type': contentType } });
  const bounded: FastifyRequest = Object.create(request, { raw: { value: raw } });
  let wav: Buffer | undefined;
  let plainField = false;
  try {
    for await (const part of bounded.parts()) {
      if (part.type === 'field') plainField ||= part.fieldname === 'file';
      else if (part.fieldname === 'file' && wav === undefined) wav = await part.toBuffer();
      else part.file.resume();
    }
  } catch (error) {
    // It has passed over a part with a name such as "constructor", and says so behind the last part; any
    // other part is ignored here.
    if (!(error instanceof Error && 'code' in error && error.code === 'FST_PROTO_VIOLATION'))
      throw malformed(
        `the multipart body does not fit the Content-Type "${contentType}" (${messageOf(error)})`,
      );
  }
  if (wav === undefined)
    throw missingFile(
      plainField
        ? 'the part "file" is a text field; it must be a file (with a filename, or a Content-Type such as audio/wav)'
        : 'the form has no part "file"',
    );
  if (wav.length > MAX_WAV_BYTES)
    throw tooLarge(`the file has ${wav.length} bytes`, MAX_WAV_BYTES, todoFor(wav));
  return wav;
}

/**
 * From the body of an upload to its samples.
 * @returns PCM bytes (16 kHz mono PCM16, little-endian), as `readPcm16` gives them
 * @throws what readBody, expectUncompressed, readUploadForm and readPcm16 throw
 */
export async function readRecording(request: FastifyRequest, timeoutMs: number): Promise<Buffer> {
  const body = await readBody(request.raw, timeoutMs);
  expectUncompressed(request.raw.headers['content-encoding']);
  return readPcm16(await readUploadForm(request, body, request.raw.headersDistinct['content-type']?.[0]));
}
