import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { AsrClient } from '../../../../client/node.ts';
import { reasonOf } from '../../../../client/protocol/http.ts';
import { excerpt } from '../../../../client/protocol/wire.ts';
import { json, ScriptedService } from '../scripted-service.ts';
import { failure, PCM, TOKEN } from '../sessions.ts';

const RESULT = { text: '你好', audio_ms: 100, inference_ms: 12.5 };
const FAST = { firstDelayMs: 1, maxDelayMs: 2, attempts: 4 };

let service: ScriptedService;
let client: AsrClient;

beforeEach(async () => {
  service = await ScriptedService.start();
  client = new AsrClient({ url: service.url, apiToken: TOKEN });
});
afterEach(() => service.stop());

test('of an answer without end nothing more is read', async () => {
  const hungUp = new Promise<void>((resolve) => {
    service.http = [
      (response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).on('close', resolve);
        response.write(' '.repeat(1_048_577));
      },
    ];
  });
  expect(await failure(client.transcribe(PCM))).toMatchObject({
    code: 'unexpected_response',
    status: 200,
    message: expect.stringContaining('over 1048576 bytes'),
  });
  await hungUp;
});

test('an answer may be cut anywhere, also within a character', async () => {
  const bytes = Buffer.from(JSON.stringify(RESULT));
  const pieces = Readable.from([bytes.subarray(0, 11), bytes.subarray(11)], { objectMode: false });
  const headers = { 'content-type': 'application/json' };
  vi.stubGlobal('fetch', async () => new Response(Readable.toWeb(pieces) as ReadableStream, { headers }));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.unstubAllGlobals().useRealTimers());
  expect(await client.transcribe(PCM)).toEqual(RESULT);
  // Nor does its limit hold the program on.
  expect(vi.getTimerCount()).toBe(0);
});

test('a browser, which hides where a redirect leads, follows none and sends no cookie', async () => {
  const asked: (RequestInit | undefined)[] = [];
  vi.stubGlobal('fetch', async (_url: string, init?: RequestInit) => {
    asked.push(init);
    return Response.error();
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const error = await failure(client.ready());
  expect(error).toMatchObject({ code: 'unexpected_response', status: 0 });
  expect(error.message).toContain('the address redirects (status 0)');
  expect(asked).toMatchObject([{ redirect: 'manual', credentials: 'omit' }]);
});

test('where a request fails, only a page of another origin is told of the missing CORS', async () => {
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('Failed to fetch')));
  const hints: boolean[] = [];
  for (const location of [
    undefined,
    { origin: new URL(service.url).origin },
    { origin: 'https://a.example' },
  ]) {
    vi.stubGlobal('location', location);
    hints.push((await failure(client.ready())).message.includes('the service has no CORS'));
  }
  expect(hints).toEqual([false, false, true]);
});

test('one signal may serve for any number of requests: nothing of them stays with it', async () => {
  service.http = [json(409, { error: 'busy' }), json(200, RESULT)];
  const { signal } = new AbortController();
  expect(await client.transcribe(PCM, { signal, retry: FAST })).toEqual(RESULT);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test.each([
  ['x'.repeat(80), 'x'.repeat(80)],
  ['x'.repeat(81), `${'x'.repeat(79)}…`],
])('of an answer as long as %s so much is shown: %s', (answer, shown) => {
  expect(excerpt(answer)).toBe(shown);
});

test.each([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'no issuer', 'no issuer; a private CA goes into NODE_EXTRA_CA_CERTS'],
  ['ECONNREFUSED', '', 'ECONNREFUSED'],
  ['', '', 'fetch failed'],
])('what a connection failed with (%s, "%s") is said as "%s"', (code, message, said) => {
  const cause = Object.assign(new Error(message), { code });
  expect(reasonOf(new TypeError('fetch failed', { cause }))).toBe(said);
});
