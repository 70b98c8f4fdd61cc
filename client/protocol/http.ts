import { MAX_MULTIPART_BYTES } from '../../common/audio/limits.ts';
import { AsrError, type AsrErrorCode, isServiceErrorCode } from './errors.ts';
import {
  isReadyResult,
  isTranscriptionResult,
  parseObject,
  type ReadyResult,
  type TranscriptionResult,
} from './wire.ts';

interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Where a 3xx answer points to. */
  readonly location: string | null;
  readonly retryAfter: string | null;
  /** How many services of several are free, as a queue in front of them says. */
  readonly free?: string | null;
}

/** What a status means when its body is not one of the service's, as from a proxy with pages of its own. */
const CODE_OF_BARE_STATUS: Readonly<Record<number, AsrErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  408: 'timeout',
  429: 'busy',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

/** The failure that an answer stands for; also for a refused WebSocket handshake. */
export function toError(answer: HttpAnswer): AsrError {
  const { status, contentType, location, retryAfter } = answer;
  // The form with a date, which nothing in front of the service sends, is NaN.
  const retryAfterMs = retryAfter === null ? undefined : 1_000 * Number(retryAfter) || undefined;
  const failure = (code: AsrErrorCode, message: string) =>
    new AsrError(code, message, { status, retryAfterMs });
  // 0: a browser hides where a redirect leads.
  if (status === 0 || (status >= 300 && status < 400)) {
    const to = location ? ` to ${location}` : '';
    const message = `the address redirects${to} (status ${status}); give the service's own address as url`;
    return failure('unexpected_response', message);
  }
  const { error, message, detail } = fieldsOf(answer);
  if (status === 422 && Array.isArray(detail))
    return failure('invalid_form', `the service does not accept the form: ${JSON.stringify(detail)}`);
  if (typeof error === 'string') {
    const explained = typeof message === 'string' ? message : error;
    if (isServiceErrorCode(error)) return failure(error, explained);
    if (status === 429) return failure('busy', explained);
    return failure('unexpected_response', `status ${status}, ${error}: ${explained}`);
  }
  const [type] = contentType.split(';');
  const found = `status ${status} with ${type || 'no content type'}, not an answer of the service`;
  const bare = CODE_OF_BARE_STATUS[status];
  // The service itself takes whatever this client sends.
  if (status === 413)
    return failure(
      'upload_too_large',
      `${found}; what stands in front of it must let ${MAX_MULTIPART_BYTES} bytes through`,
    );
  return bare ? failure(bare, found) : failure('unexpected_response', `${found}; check the url`);
}

/** @throws AsrError for every answer but a result with status 200. */
export function toTranscription(answer: HttpAnswer): TranscriptionResult {
  const result = fieldsOf(answer);
  if (answer.status === 200 && isTranscriptionResult(result)) return result;
  throw toError(answer);
}

/** Both 200 and 503 carry a readiness result. @throws AsrError for every other answer. */
export function toReadiness(answer: HttpAnswer): ReadyResult {
  const result = fieldsOf(answer);
  if ((answer.status === 200 || answer.status === 503) && isReadyResult(result))
    // One of several has answered; with another one free, nobody waits.
    return Number(answer.free) > 0 ? { ...result, busy: false } : result;
  throw toError(answer);
}

/** The fields of the JSON object that an answer brings, or none. */
const fieldsOf = ({ contentType, body }: HttpAnswer): Readonly<Record<string, unknown>> =>
  (/^application\/json\b/i.test(contentType) && parseObject(body)) || {};

interface RequestOptions {
  readonly method: 'GET' | 'POST';
  readonly apiToken: string;
  readonly body?: FormData;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
}

/**
 * One request, answered with any status. A redirect would carry the recording elsewhere, so none is followed.
 * @throws AsrError `network` or `no_answer`; the signal's reason when aborted.
 */
export async function request(url: string, options: RequestOptions): Promise<HttpAnswer> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  const attempt = new AbortController();
  const stop = () => attempt.abort(signal?.reason);
  const late = new AsrError('no_answer', `no answer from ${url} within ${timeoutMs / 1000} s`);
  const timer = setTimeout(() => attempt.abort(late), timeoutMs);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const response = await fetch(url, {
      method: options.method,
      headers: { authorization: `Bearer ${options.apiToken}` },
      body: options.body ?? null,
      redirect: 'manual',
      credentials: 'omit',
      signal: attempt.signal,
    });
    return {
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      location: response.headers.get('location'),
      retryAfter: response.headers.get('retry-after'),
      free: response.headers.get('asr-free'),
      body: await response.text(),
    };
  } catch (error) {
    if (attempt.signal.aborted) throw attempt.signal.reason;
    throw new AsrError('network', `no connection to ${url}: ${reasonOf(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Node's fetch says only "fetch failed" and keeps the reason (ECONNREFUSED, a certificate) in `cause`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const reason = error.cause instanceof Error ? error.cause : error;
  const code = 'code' in reason && typeof reason.code === 'string' ? reason.code : '';
  return reason.message || code || error.message;
}
