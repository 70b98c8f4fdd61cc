import { CLOSE_CODE, HTTP_STATUS } from '../../common/errors/errors.ts';
import type { Transcript } from './transcript.ts';

// Spread, so that the package's declarations have the codes themselves and no path out of the package.
// A function, so that a bundle that asks for no code, as the page's worklet, goes without them.
const serviceCodes = () => ({ ...HTTP_STATUS, ...CLOSE_CODE });
/** Codes of the service's interface, over HTTP and on the stream. */
export type ServiceErrorCode = keyof ReturnType<typeof serviceCodes>;

/**
 * What this client adds to them:
 * - `invalid_form`: the service answered 422, the message has the details;
 * - `network`: no connection, or one that broke before the answer was complete;
 * - `unavailable`: a proxy answered for the service (502, 503 or 504 without a body of the service);
 * - `no_answer`: the service kept the connection but did not answer within the client's time limit;
 * - `unexpected_response`: an answer that the interface does not have (another service, a redirect).
 */
export type AsrErrorCode =
  | ServiceErrorCode
  | 'invalid_form'
  | 'network'
  | 'unavailable'
  | 'no_answer'
  | 'unexpected_response';

export function isServiceErrorCode(code: string): code is ServiceErrorCode {
  return Object.hasOwn(serviceCodes(), code);
}

/** The service is there, and will serve the same request a little later. */
const PASSING_CODES: readonly AsrErrorCode[] = ['busy', 'not_ready', 'unavailable'];

/** Close codes that refuse this client or its input. The same again would end the same way. */
const LASTING_CLOSE_CODES: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009, 1010, 1011]);

interface AsrErrorOptions {
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly closeCode?: number | undefined;
  readonly cause?: unknown;
  readonly recognized?: Transcript | undefined;
}

/** Every failure of this client but an abort, which rejects with the signal's own reason. */
export class AsrError extends Error {
  override readonly name = 'AsrError';
  readonly code: AsrErrorCode;
  /** Status of the HTTP answer, that of a refused WebSocket handshake included. */
  readonly status: number | undefined;
  /** How long an answer with `Retry-After` asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** Close code of the WebSocket, e.g. 1008. 1006: the connection broke without one. */
  readonly closeCode: number | undefined;
  /** Of a long recording: what was recognized before the failure. */
  readonly recognized: Transcript | undefined;

  constructor(code: AsrErrorCode, message: string, options: AsrErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.closeCode = options.closeCode;
    this.recognized = options.recognized;
  }

  /** true for busy, not ready and network failures: the same request can succeed a little later. */
  get retryable(): boolean {
    if (this.code === 'network') return !LASTING_CLOSE_CODES.has(this.closeCode ?? 0);
    return PASSING_CODES.includes(this.code);
  }
}
