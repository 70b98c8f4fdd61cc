import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { json, text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { wavFile } from '../../../support/audio/wav.ts';
import { filePart, form } from '../../../support/clients/form.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { AUTHORIZED, startApi, type TestApi } from '../../../support/service/api.ts';

/** Two reasons to refuse one upload. No inference process runs here; a heartbeat says ready. */
let redis: TestRedis;
let api: TestApi;
const open: ClientRequest[] = [];

beforeAll(async () => {
  redis = await startRedis();
  api = await startApi(redis.url, { ASR_UPLOAD_TIMEOUT_MS: '400', ASR_UPLOAD_MEMORY_MB: '1' });
});
afterEach(async () => {
  for (const sent of open.splice(0)) sent.destroy();
  await redis.client.del('{asr}:slot');
});
afterAll(async () => {
  await api.stop();
  await redis.stop();
});

/** An upload of `bytes`, of which the last ones come only if it is to be complete. */
function send(body: Buffer, headers: Record<string, string>, isComplete: boolean): ClientRequest {
  const sent = request(`${api.origin}/v1/audio/transcriptions`, { method: 'POST', headers });
  open.push(sent);
  sent.on('error', () => undefined);
  if (isComplete) sent.end(body);
  else sent.write(body.subarray(0, -10));
  return sent;
}

/** What may be wrong, and the status of its refusal. */
const WRONG = {
  'a wrong token': 401,
  'a body that is too large': 413,
  'no model': 503,
  'too many uploads': 503,
  'a body that stays away': 408,
  'a form without a file': 422,
  'no WAV': 400,
  'another recognition': 409,
} as const;
type Wrong = keyof typeof WRONG;
const ALL = Object.keys(WRONG).filter((name): name is Wrong => name in WRONG);
const PAIRS = ALL.flatMap((one, n) => ALL.slice(n + 1).map((other) => [one, other] as const));

/** Of 400 kB: two fit into the memory for bodies. */
const WAV = wavFile(Buffer.alloc(400_000));

async function answerTo(wrong: readonly Wrong[]): Promise<{ status: number; body: unknown }> {
  const is = (name: Wrong): boolean => wrong.includes(name);
  const id = 'scripted';
  await api.services.readiness.beat({ id, host: 'here', pid: 1, state: 'ready' });
  if (is('too many uploads')) {
    // What the test before left may still be on its way out.
    let taken = 0;
    while (taken < 2) {
      const other = send(WAV, { ...AUTHORIZED, 'content-length': '500000', expect: '100-continue' }, false);
      const isTaken = once(other, 'continue').then(() => 1);
      taken += await Promise.race([isTaken, once(other, 'response').then(() => 0)]);
    }
  }
  if (is('no model')) await api.services.readiness.stop(id);
  if (is('another recognition')) await redis.client.set('{asr}:slot', 'somebody', 'PX', 5_000);
  const content = is('no WAV') ? Buffer.alloc(WAV.length) : WAV;
  const { body, type } = form([filePart(content, is('a form without a file') ? 'other' : 'file')]);
  const headers = {
    ...(is('a wrong token') ? { authorization: 'Bearer wrong' } : AUTHORIZED),
    'content-type': type,
    'content-length': is('a body that is too large') ? '600000' : String(body.length),
  };
  const isComplete = !is('a body that stays away') && !is('a body that is too large');
  const [response] = await once(send(body, headers, isComplete), 'response');
  return { status: response.statusCode, body: await json(response) };
}

test.each(ALL)('%s alone', async (wrong) => {
  expect((await answerTo([wrong])).status).toBe(WRONG[wrong]);
});

// "Too many uploads" with "no model" was an unhandled rejection, which ended the replica with all its work.
test.each(PAIRS)('%s and %s', async (one, other) => {
  const { status, body } = await answerTo([one, other]);
  expect([WRONG[one], WRONG[other]]).toContain(status);
  expect(body).toEqual(
    status === 422
      ? { detail: [expect.objectContaining({ loc: ['body', 'file'], type: 'missing' })] }
      : { error: expect.any(String), message: expect.any(String) },
  );
  expect((await fetch(`${api.origin}/healthz`)).status).toBe(200);
});

// 600 unfinished bodies took 230 MB where 16 MB were allowed.
test('the bound of bodies holds while the model is not ready: a refused body holds its memory to its end', async () => {
  await api.services.readiness.stop('scripted');
  const headers = { ...AUTHORIZED, 'content-length': String(WAV.length) };
  const codeOf = async (sent: ClientRequest): Promise<string> => {
    const [response] = await once(sent, 'response');
    return (await text(response)).includes('too many uploads') ? 'too many' : 'not ready';
  };
  const [one, other] = [send(WAV, headers, false), send(WAV, headers, false)];
  expect(await Promise.all([codeOf(one), codeOf(other)])).toEqual(['not ready', 'not ready']);
  expect(await codeOf(send(WAV, headers, false))).toBe('too many');
  one.end(WAV.subarray(-10));
  await expect.poll(() => codeOf(send(WAV, headers, true))).toBe('not ready');
});
