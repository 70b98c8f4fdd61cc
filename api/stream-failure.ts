import type { StreamErrorCode } from '../common/errors.ts';

/** An error of the stream protocol on its way to the client, who sees code and message. */
export class StreamFailure extends Error {
  override readonly name = 'StreamFailure';
  readonly code: StreamErrorCode;
  constructor(code: StreamErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
