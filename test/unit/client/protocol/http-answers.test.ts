import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { AsrClient } from '../../../../client/node.ts';
import { reasonOf } from '../../../../client/protocol/http.ts';
import { ScriptedService } from '../scripted-service.ts';
import { failure, PCM, TOKEN } from '../sessions.ts';

const RESULT = { text: '你好', audio_ms: 100, inference_ms: 12.5 };

let service: ScriptedService;
let client: AsrClient;

beforeEach(async () => {
  service = await ScriptedService.start();
  client = new AsrClient({ url: service.url, apiToken: TOKEN });
});
afterEach(() => service.stop());

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

test('nothing of a request stays behind: neither with its signal nor a limit that holds the program on', async () => {
  vi.stubGlobal('fetch', async () => Response.json(RESULT));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.unstubAllGlobals().useRealTimers());
  const { signal } = new AbortController();
  expect(await client.transcribe(PCM, { signal })).toEqual(RESULT);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate', 'self-signed certificate'],
  ['ECONNREFUSED', '', 'ECONNREFUSED'],
  ['', '', 'fetch failed'],
])('what a connection failed with (%s, "%s") is said as "%s"', (code, message, said) => {
  const cause = Object.assign(new Error(message), { code });
  expect(reasonOf(new TypeError('fetch failed', { cause }))).toBe(said);
});
