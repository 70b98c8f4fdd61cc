import { AsrError, type AsrErrorCode, isServiceErrorCode } from './errors.ts';
import { after } from './waiting.ts';
import {
  excerpt,
  parseObject,
  type ReadyResult,
  type TranscriptionResult,
  toReadyResult,
  toTranscriptionResult,
} from './wire.ts';

interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Where a 3xx answer points to. */
  readonly location?: string | null;
}

/** What a status means when its body is not one of the service's, as from a proxy with pages of its own. */
const CODE_OF_BARE_STATUS: Readonly<Record<number, AsrErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  408: 'timeout',
  413: 'upload_too_large',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

/** The failure that an answer stands for; also for a refused WebSocket handshake. */
export function toError(answer: HttpAnswer): AsrError {
  const { status } = answer;
  if (status === 0 || (status >= 300 && status < 400)) {
    const to = answer.location ? ` to ${answer.location}` : '';
    const message = `the address redirects${to} (status ${status}); give the service's own address as url`;
    return new AsrError('unexpected_response', message, { status });
  }
  const fields = fieldsOf(answer);
  if (status === 422 && Array.isArray(fields['detail'])) {
    const reasons = fields['detail'].map((entry: unknown) => JSON.stringify(entry)).join('; ');
    return new AsrError('invalid_form', `the service does not accept the form: ${reasons}`, {
      status,
      detail: fields['detail'],
    });
  }
  const code = fields['error'];
  if (typeof code === 'string') {
    const explained = typeof fields['message'] === 'string' ? fields['message'] : code;
    if (isServiceErrorCode(code)) return new AsrError(code, explained, { status });
    return new AsrError('unexpected_response', `status ${status}, ${code}: ${explained}`, { status });
  }
  const bare = CODE_OF_BARE_STATUS[status] ?? 'unexpected_response';
  return new AsrError(bare, `status ${status} with ${describe(answer)}, not an answer of the service`, {
    status,
  });
}

/** @throws AsrError for every answer but a result with status 200. */
export function toTranscription(answer: HttpAnswer): TranscriptionResult {
  if (answer.status !== 200) throw toError(answer);
  const result = toTranscriptionResult(fieldsOf(answer));
  if (result === undefined) throw notOfTheService(answer);
  return result;
}

/** Both 200 and 503 carry a readiness result. @throws AsrError for every other answer. */
export function toReadiness(answer: HttpAnswer): ReadyResult {
  const result = toReadyResult(fieldsOf(answer));
  if (result !== undefined && (answer.status === 200 || answer.status === 503)) return result;
  if (answer.status !== 200) throw toError(answer);
  throw notOfTheService(answer);
}

function notOfTheService(answer: HttpAnswer): AsrError {
  const message = `status 200 with ${describe(answer)}, not an answer of the service; check the url`;
  return new AsrError('unexpected_response', message, { status: answer.status });
}

/** The fields of the JSON object that an answer brings, or none. */
const fieldsOf = ({ contentType, body }: HttpAnswer): Readonly<Record<string, unknown>> =>
  (/^application\/json\b/i.test(contentType) && parseObject(body)) || {};

function describe(answer: HttpAnswer): string {
  const type = answer.contentType.split(';')[0]?.trim() || 'no content type';
  const text = excerpt(answer.body);
  return text === '' ? `${type} and an empty body` : `${type} (${text})`;
}

/** Hundreds of times what the service answers with. */
const MAX_ANSWER_BYTES = 1_048_576;

interface RequestOptions {
  readonly method: 'GET' | 'POST';
  readonly apiToken: string;
  readonly body?: FormData;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
}

/**
 * One request, answered with any status. Redirects are not followed: they would carry the recording to another address.
 * @throws AsrError `network`, `no_answer`, or `unexpected_response` for one without end; the signal's reason when aborted.
 */
export async function request(url: string, options: RequestOptions): Promise<HttpAnswer> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  const attempt = new AbortController();
  const stop = () => attempt.abort(signal?.reason);
  const late = new AsrError('no_answer', `no answer from ${url} within ${timeoutMs / 1000} s`);
  const timer = after(timeoutMs, () => attempt.abort(late));
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
      body: await textOf(response, url),
    };
  } catch (error) {
    if (attempt.signal.aborted) throw attempt.signal.reason;
    if (error instanceof AsrError) throw error;
    const reason = reasonOf(error);
    // Node's fetch says this of the ports of other protocols, before it connects.
    const lasting = reason === 'bad port';
    const advice = lasting
      ? '; no browser and no fetch connects to this one, so the service needs another'
      : '';
    const message = `no connection to ${url}: ${reason}${advice}${hintForPage(url)}`;
    throw new AsrError('network', message, { cause: error, lasting });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** A browser tells a page of another origin only that its request failed. */
function hintForPage(url: string): string {
  const page: unknown = Reflect.get(globalThis, 'location');
  const isForeign =
    typeof page === 'object' && page !== null && 'origin' in page && page.origin !== new URL(url).origin;
  return isForeign ? '; the service has no CORS: pages of another origin can only use its stream' : '';
}

/** Stops reading beyond the size of any answer of the service: a small compressed one can grow that far. @throws AsrError `unexpected_response` */
async function textOf(response: Response, url: string): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    bytes += read.value.byteLength;
    if (bytes > MAX_ANSWER_BYTES) {
      reader?.cancel().catch(() => {});
      const message = `the answer from ${url} has over ${MAX_ANSWER_BYTES} bytes, not an answer of the service; check the url`;
      throw new AsrError('unexpected_response', message, { status: response.status });
    }
    text += decoder.decode(read.value, { stream: true });
  }
  return text;
}

/** Node's fetch says only "fetch failed" and keeps the reason (ECONNREFUSED, ENOTFOUND, a certificate) in `cause`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const reason = error.cause instanceof Error ? error.cause : error;
  const code = 'code' in reason && typeof reason.code === 'string' ? reason.code : '';
  const said = [reason.message, code].find((part) => part !== '') ?? error.message;
  const isUntrusted = /SELF_SIGNED|^UNABLE_TO_/.test(code);
  return isUntrusted ? `${said}; a private CA goes into NODE_EXTRA_CA_CERTS` : said;
}
