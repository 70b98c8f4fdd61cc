const SERVICE_CODES = [
  'invalid_format',
  'empty_audio',
  'audio_too_long',
  'unauthorized',
  'forbidden',
  'timeout',
  'busy',
  'upload_too_large',
  'inference_failed',
  'not_ready',
  'invalid_message',
  'invalid_sequence',
  'invalid_frame',
  'overloaded',
] as const;
/** Codes of the service's interface, over HTTP and on the stream. */
export type ServiceErrorCode = (typeof SERVICE_CODES)[number];

/**
 * What this client adds to them:
 * - `invalid_form`: the service answered 422, the details are in `detail`;
 * - `network`: no connection, or one that broke before the answer was complete;
 * - `unavailable`: a proxy in front of the service answered for it (502, 503 or 504 without a body of the service);
 * - `no_answer`: the service kept the connection but did not answer within the client's time limit;
 * - `unexpected_response`: an answer that the interface does not have (HTML with status 200, another service, a redirect).
 */
export type AsrErrorCode =
  | ServiceErrorCode
  | 'invalid_form'
  | 'network'
  | 'unavailable'
  | 'no_answer'
  | 'unexpected_response';

export function isServiceErrorCode(code: string): code is ServiceErrorCode {
  return SERVICE_CODES.some((known) => known === code);
}

/** What a failure of any kind says, for a person. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The service is there, and will serve the same request a little later. */
const PASSING_CODES: readonly AsrErrorCode[] = ['busy', 'not_ready', 'unavailable'];

/** Close codes that refuse this client or its input. The same again would end the same way. */
const LASTING_CLOSE_CODES: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009, 1010, 1011]);

/** Codes of Node and OpenSSL for a certificate, or TLS, that would fail again at the next attempt. Not for records that a bad connection cut or garbled. */
const LASTING_TLS_CODE =
  /^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_|HOSTNAME_|ERR_TLS_|EPROTO$|ERR_SSL_(?!.*(_MAC$|_EOF_|INTERNAL)))/;

/** fetch wraps the error of the connection, `ws` hands it on as it is. A chain of causes may, oddly, be a circle. */
function isLastingTlsFailure(cause: unknown, depth = 0): boolean {
  if (!(cause instanceof Error) || depth > 8) return false;
  if ('code' in cause && LASTING_TLS_CODE.test(String(cause.code))) return true;
  return isLastingTlsFailure(cause.cause, depth + 1);
}

interface AsrErrorOptions {
  readonly status?: number | undefined;
  readonly closeCode?: number | undefined;
  readonly detail?: unknown;
  readonly cause?: unknown;
  /** true: the same request would fail in the same way again, although neither code nor cause says so. */
  readonly lasting?: boolean | undefined;
}

/** Every failure of this client but an abort, which rejects with the signal's own reason. */
export class AsrError extends Error {
  override readonly name = 'AsrError';
  readonly code: AsrErrorCode;
  /** Status of the HTTP answer, that of a refused WebSocket handshake included. */
  readonly status: number | undefined;
  /** Close code of the WebSocket, e.g. 1008. 1006: the connection broke without one. */
  readonly closeCode: number | undefined;
  /** The `detail` array of a 422 answer. */
  readonly detail: unknown;
  readonly #lasting: boolean;

  constructor(code: AsrErrorCode, message: string, options: AsrErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.closeCode = options.closeCode;
    this.detail = options.detail;
    this.#lasting = options.lasting ?? false;
  }

  /** true for busy, not ready and passing network failures: the only ones where the same request can succeed a little later. */
  get retryable(): boolean {
    if (this.#lasting) return false;
    if (this.code === 'network')
      return !LASTING_CLOSE_CODES.has(this.closeCode ?? 0) && !isLastingTlsFailure(this.cause);
    return PASSING_CODES.includes(this.code);
  }
}
