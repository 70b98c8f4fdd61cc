import type { Response } from 'undici';
import { PrintableError, quoted } from '../common/printable.ts';
import { DownloadFailure } from './failure.ts';

/** How far a file's size may be from the catalogue's, which is given by third parties; the hash is exact. */
export const SIZE_TOLERANCE = 0.01;

export function isNearly(expectedBytes: number, bytes: number): boolean {
  return Math.abs(bytes - expectedBytes) <= expectedBytes * SIZE_TOLERANCE;
}

/** A try that failed in a way that may pass: connection, stall, overloaded server. */
export class Interrupted extends PrintableError {
  override readonly name = 'Interrupted';
}

export type AnswerPlan =
  | { kind: 'store'; from: number; totalBytes: number | undefined }
  | { kind: 'complete' }
  | { kind: 'discard'; reason: string };

export interface WantedFile {
  readonly url: string;
  readonly expectedBytes: number;
}

/** The encodings that fetch() takes off, asked for or not: lengths and ranges count encoded bytes then. Others, such as Apache's x-bzip2, stay. */
const DECODED = /\b(gzip|deflate|br|zstd)\b/i;

/** What an answer means for the part file of `offset` bytes. */
export function readAnswer(
  response: Pick<Response, 'status' | 'statusText' | 'headers'>,
  wanted: WantedFile,
  offset: number,
): AnswerPlan {
  // RFC 9110 §14.4: a server that does not know the whole length says "*"; the range's end may be less than the file's.
  const contentRange = response.headers.get('content-range');
  const range = /^bytes (?:(\d+)-\d+|\*)\/(?:(\d+)|\*)$/i.exec(contentRange ?? '');
  const rangeTotal = range?.[2] === undefined ? undefined : Number(range[2]);
  const encoding = response.headers.get('content-encoding') ?? '';
  const isDecoded = DECODED.test(encoding);
  // Through a proxy undici leaves it undefined, whatever its type says.
  const reason = response.statusText ? ` ${quoted(response.statusText)}` : '';
  switch (response.status) {
    case 200: {
      const length = isDecoded ? null : response.headers.get('content-length');
      const totalBytes = length === null ? undefined : Number(length);
      checkSize(wanted, totalBytes);
      return { kind: 'store', from: 0, totalBytes };
    }
    case 206:
      if (range?.[1] === undefined || Number(range[1]) !== offset) {
        return {
          kind: 'discard',
          reason: `asked for the bytes from ${offset}, got ${contentRange === null ? 'no Content-Range' : quoted(contentRange)}`,
        };
      }
      if (isDecoded) return { kind: 'discard', reason: `got bytes of the file as ${quoted(encoding)}` };
      checkSize(wanted, rangeTotal);
      return { kind: 'store', from: offset, totalBytes: rangeTotal };
    case 416:
      // RFC 9110 §15.5.17 lets a server leave the total out: the hash decides about a part of about the right size.
      // An empty file's total is that of a part that is not there, which nothing could be read from.
      if (
        offset > 0 &&
        (rangeTotal === offset || (rangeTotal === undefined && isNearly(wanted.expectedBytes, offset)))
      )
        return { kind: 'complete' };
      return { kind: 'discard', reason: `the server has no bytes from ${offset} on` };
    case 408:
    case 429:
      throw new Interrupted(`HTTP ${response.status}`);
    default:
      if (response.status >= 500) throw new Interrupted(`HTTP ${response.status}`);
      throw new DownloadFailure(
        `${wanted.url}: HTTP ${response.status}${reason}. If ASR_MODEL_MIRROR is set, check that it holds this file`,
      );
  }
}

function checkSize(wanted: WantedFile, totalBytes: number | undefined): void {
  if (totalBytes === undefined || isNearly(wanted.expectedBytes, totalBytes)) return;
  throw new DownloadFailure(
    `${wanted.url} is a file of ${totalBytes} bytes, expected ${wanted.expectedBytes}: not the model's archive. If ASR_MODEL_MIRROR is set, check it`,
  );
}
