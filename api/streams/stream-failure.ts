import { StoreUnavailable, type StreamErrorCode } from '../../common/errors/errors.ts';
import { InvalidMessage } from '../../common/messages/stream.ts';

/** An error of the stream protocol on its way to the client, who sees code and message. */
export class StreamFailure extends Error {
  override readonly name = 'StreamFailure';
  readonly code: StreamErrorCode;
  constructor(code: StreamErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What the client is told of an error. Of a fault of ours it learns only that it happened. */
export function toStreamFailure(error: unknown): StreamFailure {
  if (error instanceof StreamFailure) return error;
  if (error instanceof InvalidMessage) return new StreamFailure('invalid_message', error.message);
  if (error instanceof StoreUnavailable)
    return new StreamFailure('not_ready', 'the service is not ready; try again shortly');
  return new StreamFailure('inference_failed', 'a fault of the server');
}
