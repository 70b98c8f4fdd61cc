import { Failure, failureOfCode } from './failures.ts';
import { type Fields, fieldsOf } from './fields.ts';

export interface UploadResult {
  readonly text: string;
  readonly audio_ms: number;
  readonly inference_ms: number;
}

/** Longer than the service takes for an upload at its own limit (30 s) and the recognition of 15 s of audio. */
const ANSWER_WITHIN_MS = 60_000;

/** @throws Failure `unauthorized` for a token that no header can hold. */
function authorized(token: string): RequestInit {
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Failure('unauthorized');
  return { headers: { authorization: `Bearer ${token}` } };
}

/** One request to the service this page came from. @throws Failure `connection_lost` when there is no answer. */
async function request(path: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
  const timeout = AbortSignal.timeout(ANSWER_WITHIN_MS);
  try {
    return await fetch(path, {
      ...init,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      // Browsers before 2024 have no `any`: there nothing but the browser's own patience ends a request.
      signal: AbortSignal.any?.([signal, timeout]) ?? signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new Failure('connection_lost', String(error));
  }
}

/** The answer's JSON; a proxy in between may have answered with a page of its own. @throws Failure when it breaks off. */
async function body(response: Response): Promise<Fields> {
  const text = await response.text().catch((error: unknown) => {
    throw new Failure('connection_lost', String(error));
  });
  return fieldsOf(text);
}

function refusal(response: Response, answer: Fields): Failure {
  const said = `HTTP ${response.status}`;
  if (typeof answer['error'] === 'string') {
    return failureOfCode(answer['error'], `${said} ${answer['message'] ?? ''}`);
  }
  const fromProxy = response.status === 502 || response.status === 503 || response.status === 504;
  return new Failure(fromProxy ? 'connection_lost' : 'unexpected', said);
}

/** Whether the service can recognize now. @throws Failure `unauthorized`, `forbidden`, `connection_lost`. */
export async function readiness(
  token: string,
  signal: AbortSignal,
): Promise<'ready' | 'loading' | 'unavailable'> {
  const response = await request('readyz', authorized(token), signal);
  const answer = await body(response);
  const status = answer['status'];
  // With an error it does not load: nobody should wait for it.
  if (status === 'loading' && typeof answer['error'] === 'string') return 'unavailable';
  if (status === 'ready' || status === 'loading') return status;
  throw refusal(response, answer);
}

/** The model that answers, as `id (family)`; undefined where the service names none. @throws Failure `connection_lost`. */
export async function modelName(signal: AbortSignal): Promise<string | undefined> {
  const { id, family } = await body(await request('page/model.json', {}, signal));
  if (typeof id !== 'string') return undefined;
  return typeof family === 'string' ? `${id} (${family})` : id;
}

/** Has one WAV file recognized. @throws Failure. */
export async function transcribe(wav: Blob, token: string, signal: AbortSignal): Promise<UploadResult> {
  const form = new FormData();
  form.append('file', wav, 'recording.wav');
  const init = { ...authorized(token), method: 'POST', body: form };
  const response = await request('v1/audio/transcriptions', init, signal);
  const answer = await body(response);
  const { text, audio_ms, inference_ms } = answer;
  if (typeof text !== 'string' || typeof audio_ms !== 'number' || typeof inference_ms !== 'number') {
    throw refusal(response, answer);
  }
  return { text, audio_ms, inference_ms };
}
