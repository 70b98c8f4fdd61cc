import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { MAX_MULTIPART_BYTES, MAX_WAV_BYTES } from '../../common/audio/limits.ts';
import { ApiFailure, ClientGone, FormFailure, messageOf } from '../../common/errors/errors.ts';
import { afterSilence } from '../../common/redis/timeouts.ts';

const tooLarge = (what: string, limitBytes: number): ApiFailure =>
  new ApiFailure('upload_too_large', `${what}; the limit is ${limitBytes} bytes`);

/** The length that a request declares is refused before a byte of the body is read. @throws ApiFailure `upload_too_large` */
export function checkDeclaredLength(contentLength: string | undefined): void {
  if (contentLength !== undefined && Number(contentLength) > MAX_MULTIPART_BYTES) {
    throw tooLarge(`the request body has ${contentLength} bytes`, MAX_MULTIPART_BYTES);
  }
}

/** Whether the client waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1): a refusal then saves it from sending it at all. */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && /\b100-continue\b/i.test(headers.expect ?? '');
}

const FIRST_BODY_BYTES = 65_536;

/**
 * Reads a request body whole, counting its raw bytes. It is put together as it comes: kept one by one, pieces of a byte (chunked encoding allows them) take
 * some hundred times the memory that the limit is for.
 * @param timeoutMs how long that may take
 * @throws ApiFailure `upload_too_large` or `timeout`; ClientGone
 */
export function readBody(request: IncomingMessage, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let body = Buffer.allocUnsafe(FIRST_BODY_BYTES);
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
        stop(() => reject(tooLarge(`the request body has ${bytes} bytes or more`, MAX_MULTIPART_BYTES)));
        return;
      }
      if (bytes > body.length) {
        const larger = Buffer.allocUnsafe(Math.min(Math.max(bytes, 2 * body.length), MAX_MULTIPART_BYTES));
        body.copy(larger, 0, 0, start);
        body = larger;
      }
      chunk.copy(body, start);
    };
    const onEnd = (): void => stop(() => resolve(body.subarray(0, bytes)));
    const onGone = (): void =>
      stop(() => reject(new ClientGone(`the client hung up after ${bytes} bytes of the body`)));
    const onTimeout = (): void => {
      // A body that is shorter than its client counted ends here, too, however fast the network is.
      const declared = request.headers['content-length'];
      const share = declared === undefined ? bytes : `${bytes} of ${declared}`;
      const msg = `the upload was not complete in time; ${share} bytes arrived`;
      stop(() => reject(new ApiFailure('timeout', msg)));
    };
    const arrived = afterSilence(timeoutMs, onTimeout);
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
    // The client may have hung up during the checks before this; then no event follows.
    if (request.destroyed) onGone();
  });
}

/**
 * Busboy takes a thirtieth of a millisecond for each delimiter, also for parts over its own limit: 545 KB of empty parts would hold the process
 * for over a second. No form that somebody means comes near this, nor does a recording by chance (four given bytes in a row).
 */
const MAX_DELIMITERS = 1_000;

function linesThatMayBeDelimiters(body: Buffer): number {
  let count = 0;
  for (
    let at = body.indexOf('\r\n--');
    at !== -1 && count <= MAX_DELIMITERS;
    at = body.indexOf('\r\n--', at + 4)
  )
    count += 1;
  return count;
}

/** RFC 7578 asks for no file name. A part without one is text where it says so or says nothing, which Busboy has as text/plain. */
const isPartAFile = (_name?: string, contentType?: string, fileName?: string): boolean =>
  fileName !== undefined || contentType !== 'text/plain';

const missingFile = (msg: string): FormFailure =>
  new FormFailure({ loc: ['body', 'file'], msg, type: 'missing' });
const malformed = (msg: string): FormFailure =>
  new FormFailure({ loc: ['body'], msg, type: 'multipart_invalid' });
/** A form that cannot be read is mostly a right one behind a Content-Type set by hand, without the boundary that the HTTP library chose or with another. */
const LEAVE_TYPE = 'leave the form and its Content-Type to your HTTP library, which sets the boundary';

/** Some HTTP libraries compress a body when told to. Other names stand before bodies as they are ("utf-8"). @throws FormFailure */
export function expectUncompressed(contentEncoding: string | undefined): void {
  if (contentEncoding === undefined || !/\b(gzip|deflate|br|zstd|compress)\b/i.test(contentEncoding)) return;
  const msg = `the body is compressed (Content-Encoding "${contentEncoding}"); send it as it is`;
  throw new FormFailure({ loc: ['header', 'content-encoding'], msg, type: 'content_encoding' });
}

/**
 * Takes the file part named `file` (the first one) out of a multipart/form-data body; all other parts are ignored.
 * @throws FormFailure (422) when the body is no such form or has no such part; ApiFailure `upload_too_large` for a file over 484,096 bytes
 */
export function readUploadForm(body: Buffer, contentType: string | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (contentType === undefined || !/^multipart\/form-data[ \t]*(;|$)/i.test(contentType)) {
      const found =
        contentType === undefined ? 'there is no Content-Type' : `the Content-Type is "${contentType}"`;
      const msg = `${found}; send multipart/form-data with a part named "file"`;
      reject(new FormFailure({ loc: ['header', 'content-type'], msg, type: 'content_type' }));
      return;
    }
    let parser: BusboyInstance;
    try {
      // Over its mark a part makes Busboy wait for a reader, and one that it skips (no name, no Content-Disposition) has none: it would wait for ever.
      parser = new Busboy({
        headers: { 'content-type': contentType },
        fileHwm: MAX_MULTIPART_BYTES + 1,
        isPartAFile,
      });
    } catch (error) {
      reject(
        malformed(`the Content-Type "${contentType}" cannot be used (${messageOf(error)}); ${LEAVE_TYPE}`),
      );
      return;
    }
    if (linesThatMayBeDelimiters(body) > MAX_DELIMITERS) {
      reject(malformed(`the multipart body has over ${MAX_DELIMITERS} lines that begin with "--"`));
      return;
    }
    let file: Buffer[] | undefined;
    let plainField = false;
    parser.on('file', (name, stream) => {
      const wanted: Buffer[] | undefined = name === 'file' && file === undefined ? [] : undefined;
      if (wanted) file = wanted;
      stream.on('data', (chunk: Buffer) => wanted?.push(chunk));
      // A truncated body ends the part with an error of its own; the parser's says it for both.
      stream.on('error', () => undefined);
    });
    parser.on('field', (name) => {
      plainField ||= name === 'file';
    });
    parser.on('error', (error) => {
      const found = `the multipart body does not fit the Content-Type "${contentType}" (${messageOf(error)})`;
      reject(malformed(`${found}; ${LEAVE_TYPE}`));
    });
    // When every file has come to its end.
    parser.on('finish', () => {
      if (file === undefined) {
        reject(
          missingFile(
            plainField
              ? 'the part "file" is a text field; it must be a file (with a filename, or a Content-Type such as audio/wav)'
              : 'the form has no part "file"',
          ),
        );
        return;
      }
      const [first = Buffer.alloc(0), ...others] = file;
      const wav = others.length === 0 ? first : Buffer.concat(file);
      if (wav.length > MAX_WAV_BYTES) reject(tooLarge(`the file has ${wav.length} bytes`, MAX_WAV_BYTES));
      else resolve(wav);
    });
    parser.end(body);
  });
}
