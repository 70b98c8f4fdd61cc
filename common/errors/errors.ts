/**
 * The codes of the public interface, and what they become on the wire: a status over HTTP, a close code on a
 * stream. `forbidden` ends a handshake with HTTP 403, so it has no close code. Codes outside the interface's
 * tables keep only the body's form and are not here: `server_error` (a fault of ours), `not_found` (an
 * unknown path), `method_not_allowed`, `bad_request` (broken HTTP, a wrong handshake).
 */
export const HTTP_STATUS = {
  invalid_format: 400,
  empty_audio: 400,
  audio_too_long: 400,
  unauthorized: 401,
  forbidden: 403,
  timeout: 408,
  busy: 409,
  upload_too_large: 413,
  inference_failed: 500,
  not_ready: 503,
} as const;
type HttpErrorCode = keyof typeof HTTP_STATUS;

export const CLOSE_CODE = {
  busy: 1008,
  invalid_message: 1008,
  invalid_sequence: 1008,
  invalid_frame: 1008,
  overloaded: 1008,
  timeout: 1008,
  unauthorized: 1008,
  audio_too_long: 1008,
  inference_failed: 1011,
  not_ready: 1011,
} as const;
export type StreamErrorCode = keyof typeof CLOSE_CODE;

/**
 * What ends a request or a stream. Code and message reach the client as they are, so the message holds no
 * secret, no path and no stack.
 */
export class ServiceFailure extends Error {
  override readonly name = 'ServiceFailure';
  readonly code: HttpErrorCode | StreamErrorCode;
  /** What logs and metrics call it, where the code does not tell enough. */
  readonly label: string;
  constructor(code: ServiceFailure['code'], message: string, label: string = code) {
    super(message);
    this.code = code;
    this.label = label;
  }

  /** @param codes HTTP_STATUS or CLOSE_CODE: those that this way to the client has */
  isAmong<Code extends string>(codes: Readonly<Record<Code, number>>): this is { readonly code: Code } {
    return Object.hasOwn(codes, this.code);
  }
}

/** The refusals that are raised in several places or come on both ways, in the words that the client reads. */
const REFUSALS = {
  busy: ['busy', 'another recognition task is active; try again shortly'],
  'model not ready': ['not_ready', 'the model is not ready yet; try again shortly'],
  'model failed': ['inference_failed', 'the model failed on this recording'],
  /** Nobody works on its recording any more. */
  'recognition gone': [
    'not_ready',
    'recognition has stopped, and no other process has taken over; send the recording again shortly',
  ],
  'store away': ['not_ready', 'the service is not ready; try again shortly'],
} as const;

export function refused(refusal: keyof typeof REFUSALS): ServiceFailure {
  const [code, message] = REFUSALS[refusal];
  return new ServiceFailure(code, message);
}

/** What the client is told of an error. Undefined for a fault of ours: it learns only that it happened. */
export function refusalOf(error: unknown): ServiceFailure | undefined {
  if (error instanceof StoreUnavailable) return refused('store away');
  return error instanceof ServiceFailure ? error : undefined;
}

/** The one entry of a 422 body. */
interface ValidationDetail {
  readonly loc: string[];
  readonly msg: string;
  readonly type: string;
}

/** The form of an upload is wrong (422). The answer's body has a form of its own, so this is a class of its own. */
export class FormFailure extends Error {
  override readonly name = 'FormFailure';
  readonly detail: ValidationDetail;
  constructor(detail: ValidationDetail) {
    super(detail.msg);
    this.detail = detail;
  }
}

/** Redis does not answer or cannot be reached: for a client that is `not_ready`. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The client hung up before its request was complete: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** The name of an exception's type: what a client may know of a failure whose message is for the log. */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : 'Error';
}

/** What an error says, for the log or for whoever gave the value that it is about. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For a switch that has handled every case; a new case then fails to compile. */
export function unreachable(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}`);
}
