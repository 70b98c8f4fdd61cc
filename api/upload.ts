import type { IncomingMessage } from 'node:http';
import { MAX_MULTIPART_BYTES, MAX_WAV_BYTES } from '../common/audio/limits.ts';
import { ApiFailure, FormFailure } from '../common/errors.ts';
import { boundaryOf, type FormPart, formParts, MalformedForm } from './multipart-form.ts';

/** The client hung up before its request was complete: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

const tooLarge = (what: string, limitBytes: number): ApiFailure =>
  new ApiFailure('upload_too_large', `${what}; the limit is ${limitBytes} bytes`);

/** The length that a request declares is refused before a byte of the body is read. @throws ApiFailure `upload_too_large` */
export function checkDeclaredLength(contentLength: string | undefined): void {
  if (contentLength !== undefined && Number(contentLength) > MAX_MULTIPART_BYTES) {
    throw tooLarge(`the request body has ${contentLength} bytes`, MAX_MULTIPART_BYTES);
  }
}

/**
 * Reads a request body whole, counting its raw bytes.
 * @param timeoutMs how long that may take
 * @throws ApiFailure `upload_too_large` or `timeout`; ClientGone
 */
export function readBody(request: IncomingMessage, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = (settle: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      clearTimeout(timer);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > MAX_MULTIPART_BYTES)
        stop(() => reject(tooLarge(`the request body has ${bytes} bytes or more`, MAX_MULTIPART_BYTES)));
    };
    const onEnd = (): void => stop(() => resolve(Buffer.concat(chunks, bytes)));
    const onGone = (): void =>
      stop(() => reject(new ClientGone(`the client hung up after ${bytes} bytes of the body`)));
    const onTimeout = (): void =>
      stop(() =>
        reject(new ApiFailure('timeout', `the upload was not complete in time; ${bytes} bytes arrived`)),
      );
    const timer = setTimeout(onTimeout, timeoutMs);
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
    // It may have gone during the checks before, and then sends no event any more.
    if (request.destroyed) onGone();
  });
}

const missingFile = (msg: string): FormFailure =>
  new FormFailure([{ loc: ['body', 'file'], msg, type: 'missing' }]);

/**
 * Takes the file part named `file` (the first one) out of a multipart/form-data body; all other parts are ignored.
 * @returns a view of the body. @throws FormFailure (422) when the body is no such form or has no such part; ApiFailure `upload_too_large` for a file over 484,096 bytes
 */
export function readUploadForm(body: Buffer, contentType: string | undefined): Buffer {
  if (contentType === undefined || !/^multipart\/form-data *(;|$)/i.test(contentType)) {
    const msg = `the request is ${contentType ?? 'without a Content-Type'}; send multipart/form-data with a part named "file"`;
    throw new FormFailure([{ loc: ['header', 'content-type'], msg, type: 'content_type' }]);
  }
  const named = partsOf(body, contentType).filter(({ name }) => name === 'file');
  const file = named.find(({ isFile }) => isFile)?.content;
  if (file === undefined) {
    throw missingFile(
      named.length > 0
        ? 'the part "file" is a text field; it must be a file (with a filename)'
        : 'the form has no part "file"',
    );
  }
  if (file.length > MAX_WAV_BYTES) throw tooLarge(`the file has ${file.length} bytes`, MAX_WAV_BYTES);
  return file;
}

function partsOf(body: Buffer, contentType: string): FormPart[] {
  try {
    return formParts(body, boundaryOf(contentType));
  } catch (error) {
    if (!(error instanceof MalformedForm)) throw error;
    throw new FormFailure([
      { loc: ['body'], msg: `the multipart form is malformed: ${error.message}`, type: 'multipart_invalid' },
    ]);
  }
}
