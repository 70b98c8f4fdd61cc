import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AsrClient, type AsrClientOptions, AsrError, type Retry } from '../../../../client/node.ts';
import { withRetry } from '../../../../client/protocol/retry.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { drop, type HttpScript, html, json, ScriptedService } from '../scripted-service.ts';
import { failure, hurried, TOKEN } from '../sessions.ts';

const RESULT = { text: '你好', audio_ms: 100, inference_ms: 12.5 };
const PCM = Int16Array.from({ length: 1_600 }, (_, n) => n - 800);

let service: ScriptedService;
let client: AsrClient;

beforeEach(async () => {
  service = await ScriptedService.start();
  client = new AsrClient({ url: `${service.url}/`, apiToken: TOKEN });
});
afterEach(() => service.stop());

test('transcribe sends a form with a WAV of 16 kHz mono PCM16 and the token, and returns the result', async () => {
  service.http = [json(200, RESULT)];
  expect(await client.transcribe(PCM)).toEqual(RESULT);
  const [request] = service.requests;
  expect(request).toMatchObject({
    method: 'POST',
    path: '/v1/audio/transcriptions',
    authorization: `Bearer ${TOKEN}`,
    contentType: expect.stringMatching(/^multipart\/form-data; boundary=/),
  });
  const wav = wavFile(Buffer.from(PCM.buffer));
  expect(request?.body.includes(wav)).toBe(true);
  expect(request?.body.includes('name="file"; filename="recording.wav"')).toBe(true);
});

test('an address with a path, as of a proxy that serves other things, too, keeps it', async () => {
  service.http = [json(200, RESULT)];
  const behind = new AsrClient({ url: `${service.url}/asr//`, apiToken: TOKEN });
  await behind.transcribe(PCM);
  expect(service.requests[0]?.path).toBe('/asr/v1/audio/transcriptions');
  service.stream = [(session) => session.on('start', () => session.ready())];
  const stream = behind.stream();
  await stream.ready;
  stream.close();
  await stream.final.catch(() => {});
  expect(service.sessions[0]?.request.url).toBe('/asr/ws/asr');
});

test.for([
  { as: 'bytes', of: (wav: Buffer<ArrayBuffer>) => wav },
  { as: 'an ArrayBuffer', of: (wav: Buffer<ArrayBuffer>) => Uint8Array.from(wav).buffer },
  { as: 'a Blob', of: (wav: Buffer<ArrayBuffer>) => new Blob([wav]) },
])('a WAV given as $as is converted first', async ({ of }) => {
  service.http = [json(200, RESULT)];
  const stereo = Buffer.from(Int16Array.of(100, 300, -100, -300).buffer);
  await client.transcribe(of(Buffer.from(wavFile(stereo, { channels: 2 }))));
  expect(service.requests[0]?.body.includes(wavFile(Buffer.from(Int16Array.of(200, -200).buffer)))).toBe(
    true,
  );
});

test('a token that is not set is said to be missing, not sent as a word', () => {
  const options: AsrClientOptions = JSON.parse(JSON.stringify({ url: service.url }));
  expect(() => new AsrClient(options)).toThrow('apiToken is missing or empty');
});

test('a recording over 15 s and an empty one never reach the service', async () => {
  expect((await failure(client.transcribe(new Int16Array(240_001)))).code).toBe('audio_too_long');
  expect((await failure(client.transcribe(new Int16Array(0)))).code).toBe('empty_audio');
  expect(service.requests).toEqual([]);
});

test('busy, not ready, proxies and dropped connections are tried again, with growing waits', async () => {
  const busy = json(409, { error: 'busy', message: 'another recognition task is active' });
  service.http = [
    busy,
    json(503, { error: 'not_ready' }),
    html(502, '<h1>502 Bad Gateway</h1>'),
    html(504, '<h1>Gateway Time-out</h1>'),
    drop,
    json(200, RESULT),
  ];
  const retries: Retry[] = [];
  const retry = { attempts: 6, onRetry: hurried((one) => void retries.push(one)) };
  expect(await client.transcribe(PCM, { retry })).toEqual(RESULT);
  expect(service.requests.length).toBe(6);
  expect(retries.map(({ error }) => [error.code, error.status])).toEqual([
    ['busy', 409],
    ['not_ready', 503],
    ['unavailable', 502],
    ['unavailable', 504],
    ['network', undefined],
  ]);
  expect(retries[2]?.error.message).toBe('status 502 with text/html, not an answer of the service');
  expect(retries[0]?.delayMs).toBeGreaterThanOrEqual(1_000);
  expect(retries[0]?.delayMs).toBeLessThanOrEqual(1_400);
  for (const [index, fullMs] of [250, 500, 1_000, 2_000].entries()) {
    expect(retries[index + 1]?.delayMs).toBeGreaterThanOrEqual(Math.floor(fullMs * 0.75));
    expect(retries[index + 1]?.delayMs).toBeLessThanOrEqual(fullMs);
  }
});

test('429 of a proxy is busy, and its Retry-After is waited for', async () => {
  const limited =
    (type: string, body: string, headers = {}): HttpScript =>
    (response) => {
      response.writeHead(429, { 'content-type': type, 'retry-after': '0.01', ...headers });
      response.end(body);
    };
  service.http = [
    limited('text/html', '<h1>429 Too Many Requests</h1>'),
    limited('application/json', '{"error":"rate_limited","message":"slow down"}'),
    limited('application/json', '{"error":"busy"}', { 'retry-after': 'Sat, 28 Nov 2026 03:00:12 GMT' }),
    json(200, RESULT),
  ];
  const seen: [string, number | undefined, number | undefined][] = [];
  const onRetry = ({ error }: Retry) => seen.push([error.code, error.status, error.retryAfterMs]);
  expect(await client.transcribe(PCM, { retry: { onRetry } })).toEqual(RESULT);
  expect(seen).toEqual([
    ['busy', 429, 10],
    ['busy', 429, 10],
    ['busy', 429, undefined],
  ]);
});

test('attempts are limited, and none follows with retry: false', async () => {
  service.http = [json(409, { error: 'busy' })];
  const retry = { attempts: 4, onRetry: hurried() };
  expect(await failure(client.transcribe(PCM, { retry }))).toMatchObject({ code: 'busy', status: 409 });
  expect(service.requests.length).toBe(4);
  await failure(client.transcribe(PCM, { retry: false }));
  expect(service.requests.length).toBe(5);
});

test.for([
  {
    answer: json(401, { error: 'unauthorized', message: 'the token is wrong' }),
    code: 'unauthorized',
    status: 401,
    says: 'the token is wrong',
  },
  { answer: json(403, { error: 'forbidden' }), code: 'forbidden', status: 403, says: 'forbidden' },
  {
    answer: json(400, { error: 'invalid_format', message: 'no' }),
    code: 'invalid_format',
    status: 400,
    says: 'no',
  },
  { answer: json(408, { error: 'timeout', message: 'late' }), code: 'timeout', status: 408, says: 'late' },
  {
    answer: json(500, { error: 'inference_failed', message: null }),
    code: 'inference_failed',
    status: 500,
    says: 'inference_failed',
  },
  {
    answer: html(413, '<h1>Too large</h1>'),
    code: 'upload_too_large',
    status: 413,
    says: 'must let 545536 bytes through',
  },
  { answer: html(401, '<h1>No</h1>'), code: 'unauthorized', status: 401, says: 'with text/html,' },
  { answer: html(408, '<h1>Late</h1>'), code: 'timeout', status: 408, says: 'with text/html,' },
  { answer: json(422, { detail: 'no' }), code: 'unexpected_response', status: 422, says: 'Application/JSON' },
  { answer: json(400, { detail: [] }), code: 'unexpected_response', status: 400, says: 'Application/JSON' },
  { answer: html(500, ''), code: 'unexpected_response', status: 500, says: 'not an answer' },
  {
    answer: html(200, '<p>Welcome to nginx!</p>'),
    code: 'unexpected_response',
    status: 200,
    says: 'status 200 with text/html, not an answer of the service; check the url',
  },
  {
    answer: html(200, JSON.stringify(RESULT)),
    code: 'unexpected_response',
    status: 200,
    says: 'with text/html',
  },
  { answer: json(200, { text: '好' }), code: 'unexpected_response', status: 200, says: 'check the url' },
  {
    answer: json(200, ['not', 'an object']),
    code: 'unexpected_response',
    status: 200,
    says: 'check the url',
  },
  {
    answer: json(404, { error: 'not_found', message: 'no such path' }),
    code: 'unexpected_response',
    status: 404,
    says: 'not_found: no such path',
  },
])('$status as $code is final: one request, a clear error', async ({ answer, code, status, says }) => {
  service.http = [answer];
  expect(await failure(client.transcribe(PCM, { retry: { attempts: 4 } }))).toMatchObject({
    code,
    status,
    message: expect.stringContaining(says),
  });
  expect(service.requests.length).toBe(1);
});

test('422 says what is wrong with the form', async () => {
  const detail = [{ loc: ['body', 'file'], msg: 'Field required', type: 'missing' }];
  service.http = [json(422, { detail })];
  const error = await failure(client.transcribe(PCM, { retry: { attempts: 4 } }));
  expect(error).toMatchObject({ code: 'invalid_form', status: 422 });
  expect(error.message).toContain('Field required');
});

test('a redirect is not followed: the recording goes nowhere else', async () => {
  service.http = [
    (response) => {
      response.writeHead(308, { location: 'https://asr.example/v1/audio/transcriptions' });
      response.end();
    },
  ];
  const error = await failure(client.transcribe(PCM));
  expect(error).toMatchObject({ code: 'unexpected_response', status: 308 });
  expect(error.message).toContain('redirects to https://asr.example/');
});

test('nobody listens: network, with the reason', async () => {
  await service.stop();
  const retry = { attempts: 4, onRetry: hurried() };
  const error = await failure(client.transcribe(PCM, { retry }));
  expect(error).toMatchObject({ code: 'network', status: undefined });
  expect(error.message).toContain('ECONNREFUSED');
  service = await ScriptedService.start();
});

test('a service that never answers is given up after the time limit, without another attempt', async () => {
  service.http = [() => {}];
  const again: Retry[] = [];
  const retry = { attempts: 4, onRetry: (next: Retry) => again.push(next) };
  const error = await failure(client.transcribe(PCM, { timeoutMs: 50, retry }));
  expect(error.code).toBe('no_answer');
  expect(error.message).toContain('within 0.05 s');
  expect(again).toEqual([]);
  // None when the machine stood still for those 50 ms.
  expect(service.requests.length).toBeLessThanOrEqual(1);
});

test('unless told otherwise an answer is waited for as long as the service may take: 10 s, of a recording 160 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    for (const [ask, limit] of [
      [() => client.ready(), 'within 10 s'],
      [() => client.transcribe(PCM), 'within 160 s'],
    ] as const) {
      const asked = new Promise<void>((resolve) => {
        service.http = [() => resolve()];
      });
      const late = failure(ask());
      await asked;
      vi.runOnlyPendingTimers();
      expect((await late).message).toContain(limit);
    }
  } finally {
    vi.useRealTimers();
  }
});

test('an abort rejects with its reason: in a request, with its failure, between two attempts, before the first', async () => {
  const reason = new Error('enough');
  const inRequest = new AbortController();
  service.http = [() => inRequest.abort(reason)];
  await expect(client.transcribe(PCM, { signal: inRequest.signal })).rejects.toBe(reason);

  // The one request that is never repeated.
  const asking = new AbortController();
  service.http = [() => asking.abort(reason)];
  await expect(client.ready({ signal: asking.signal })).rejects.toBe(reason);

  const between = new AbortController();
  service.http = [json(409, { error: 'busy' })];
  const retry = { onRetry: () => setImmediate(() => between.abort(reason)) };
  await expect(client.transcribe(PCM, { signal: between.signal, retry })).rejects.toBe(reason);

  for (const code of ['busy', 'timeout'] as const) {
    const withFailure = new AbortController();
    const failing = withRetry(
      async () => {
        withFailure.abort(reason);
        throw new AsrError(code, 'it failed');
      },
      {},
      withFailure.signal,
    );
    await expect(failing).rejects.toBe(reason);
  }

  const requests = service.requests.length;
  await expect(client.transcribe(PCM, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(service.requests.length).toBe(requests);
});

test('ready: 200 and 503 are answers, everything else is an error', async () => {
  service.http = [
    json(200, { status: 'ready', busy: true }),
    json(503, { status: 'loading', busy: false, error: 'ModelError' }),
    json(503, { status: 'loading', busy: false, error: null }),
    html(503, '<h1>Service Unavailable</h1>'),
    json(401, { error: 'unauthorized' }),
    json(200, { status: 'fine' }),
    json(500, { status: 'ready', busy: false }),
  ];
  expect(await client.ready()).toEqual({ status: 'ready', busy: true });
  expect(service.requests[0]).toMatchObject({
    method: 'GET',
    path: '/readyz',
    authorization: `Bearer ${TOKEN}`,
  });
  expect(await client.ready()).toEqual({ status: 'loading', busy: false, error: 'ModelError' });
  expect(await client.ready()).toEqual({ status: 'loading', busy: false, error: null });
  expect((await failure(client.ready())).code).toBe('unavailable');
  expect((await failure(client.ready())).code).toBe('unauthorized');
  for (const status of [200, 500])
    expect(await failure(client.ready())).toMatchObject({ code: 'unexpected_response', status });
});

test.for([
  { url: 'asr.example', apiToken: TOKEN, says: 'is not http://HOST' },
  { url: 'localhost:8088', apiToken: TOKEN, says: '"localhost:8088" is not http://HOST' },
  { url: 'https://user:pass@asr.example', apiToken: TOKEN, says: 'may hold no user' },
  { url: 'https://token@asr.example', apiToken: TOKEN, says: 'may hold no user' },
  { url: 'https://asr.example/?token=x', apiToken: TOKEN, says: 'query' },
  { url: 'https://asr.example', apiToken: '', says: 'empty' },
  { url: 'https://asr.example', apiToken: 'two words', says: 'a space' },
  { url: 'https://asr.example', apiToken: 'line\r\nbreak', says: 'a line break' },
  { url: 'https://asr.example', apiToken: '令牌', says: 'not ASCII' },
])('url $url with token "$apiToken" is refused', ({ url, apiToken, says }) => {
  expect(() => new AsrClient({ url, apiToken })).toThrow(says);
});
