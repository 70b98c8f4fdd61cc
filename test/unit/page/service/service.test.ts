import { afterEach, expect, it, vi } from 'vitest';
import { AsrError, type AsrErrorCode } from '../../../../client/protocol/errors.ts';
import { asFailure, Failure } from '../../../../page/service/failures.ts';
import { modelName, readiness, serviceFor } from '../../../../page/service/service.ts';

const { signal } = new AbortController();

afterEach(() => void vi.unstubAllGlobals());

/** Every request of the page gets this answer. @returns what it asked for */
function answer(status: number, body: string, headers: Record<string, string> = {}): unknown[] {
  const asked: unknown[] = [];
  vi.stubGlobal('location', new URL('https://asr.example/asr/?from=here'));
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    asked.push(address, init.headers);
    return new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } });
  });
  return asked;
}

it('of every failure of the client the page has something to say', () => {
  const kinds: Readonly<Record<AsrErrorCode, Failure['kind']>> = {
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
    invalid_form: 'unexpected',
    invalid_message: 'unexpected',
    invalid_sequence: 'unexpected',
    invalid_frame: 'unexpected',
    unexpected_response: 'unexpected',
  };
  const codes = Object.keys(kinds) as AsrErrorCode[];
  expect(Object.fromEntries(codes.map((code) => [code, asFailure(new AsrError(code, '')).kind]))).toEqual(
    kinds,
  );
  expect(asFailure(new AsrError('invalid_form', 'no file'))).toMatchObject({
    detail: 'invalid_form: no file',
  });
  expect(asFailure(new Error('moon'))).toMatchObject({ kind: 'unexpected', detail: 'Error: moon' });
  const own = new Failure('cancelled');
  expect(asFailure(own)).toBe(own);
});

it.each([
  ['0', 'busy'],
  ['1', 'ready'],
])('one of several services is busy, and %s are free: %s', async (free, state) => {
  answer(200, '{"status":"ready","busy":true}', { 'asr-free': free });
  expect(await readiness(serviceFor('a-token'), signal)).toBe(state);
});

it.each([
  [200, '{"status":"ready","busy":false}', 'ready'],
  [200, '{"status":"ready","busy":true}', 'busy'],
  [503, '{"status":"loading","busy":false,"error":null}', 'loading'],
  // It does not load: nobody should wait for it.
  [503, '{"status":"loading","busy":false,"error":"ModelLoadError"}', 'unavailable'],
])('of an answer %i %s the service is %s', async (status, body, state) => {
  const asked = answer(status, body);
  expect(await readiness(serviceFor('a-token'), signal)).toBe(state);
  // Beside the page, also behind a proxy's path.
  expect(asked).toEqual(['https://asr.example/asr/readyz', { authorization: 'Bearer a-token' }]);
});

it.each(['', '错误的令牌'])('a token that no header can hold ("%s") is refused without asking', (token) => {
  const asked = answer(200, '');
  expect(() => serviceFor(token)).toThrow(expect.objectContaining({ kind: 'unauthorized' }));
  expect(asked).toEqual([]);
});

it.each([
  [200, '{"id":"bundled","family":"whisper"}', { id: 'bundled', family: 'whisper' }],
  // An inference process of a version that does not tell it.
  [200, '{"id":"bundled","family":null}', { id: 'bundled', family: undefined }],
  [200, '{"id":null,"family":null}', undefined],
  // An api of a version without that path, the store away, and somebody else's page.
  [404, '{"error":"not_found","message":"there is no GET /page/model.json"}', undefined],
  [503, '{"error":"not_ready"}', undefined],
  [200, '<h1>Welcome</h1>', undefined],
])('of an answer %i %s the model is %j', async (status, body, name) => {
  answer(status, body);
  expect(await modelName(signal)).toEqual(name);
});
