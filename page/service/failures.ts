import { AsrError, type AsrErrorCode } from '../../client/protocol/errors.ts';
import type { FailureKind, FileFacts } from '../texts/texts.ts';

/**
 * @property detail what the service or the browser said, for those who want to know; not translated
 * @property file what is known of a file that is not taken
 */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;
  readonly detail: string;
  readonly file: FileFacts;
  constructor(kind: FailureKind, detail = '', file: FileFacts = {}) {
    super(`${kind}: ${detail}`);
    this.kind = kind;
    this.detail = detail;
    this.file = file;
  }
}

/** What the client's errors mean to the person; all others are `unexpected`. */
const BY_CODE: Readonly<Partial<Record<AsrErrorCode, FailureKind>>> = {
  busy: 'busy',
  not_ready: 'not_ready',
  overloaded: 'overloaded',
  timeout: 'timeout',
  unauthorized: 'unauthorized',
  forbidden: 'forbidden',
  inference_failed: 'inference_failed',
  invalid_format: 'file_unreadable',
  empty_audio: 'file_empty',
  audio_too_long: 'file_too_long',
  upload_too_large: 'file_too_long',
  network: 'connection_lost',
  unavailable: 'connection_lost',
  no_answer: 'connection_lost',
};

/** Whatever went wrong, in the page's own kinds. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof AsrError && error.cause instanceof Failure) return error.cause;
  if (!(error instanceof AsrError)) return new Failure('unexpected', String(error));
  return new Failure(BY_CODE[error.code] ?? 'unexpected', `${error.code}: ${error.message}`);
}
