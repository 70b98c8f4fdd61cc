import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Access } from '../../../../api/http/access.ts';
import { RawConnection } from '../../../fuzz/raw-connection.ts';
import { StreamClient } from '../../../support/clients/stream-client.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { AUTHORIZED, startApi, type TestApi, TOKEN } from '../../../support/service/api.ts';

let redis: TestRedis;
const started: TestApi[] = [];
const start = async (env: Record<string, string> = {}): Promise<TestApi> => {
  const api = await startApi(redis.url, env);
  started.push(api);
  return api;
};

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  for (const api of started.splice(0)) await api.stop();
});
afterAll(() => redis.stop());

describe('token', () => {
  test.each([
    ['none', {}, 'there is no Authorization header'],
    ['wrong', { authorization: 'Bearer wrong-token-0123456' }, 'the token is wrong'],
    ['a prefix of it', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }, 'the token is wrong'],
    ['another scheme', { authorization: `Basic ${TOKEN}` }, 'does not begin with "Bearer "'],
    ['bare', { authorization: TOKEN }, 'does not begin with "Bearer "'],
    ['an empty one', { authorization: '' }, 'there is no Authorization header'],
    ['a blank one', { authorization: ' \t ' }, 'there is no Authorization header'],
  ])(
    '%s → 401 unauthorized with WWW-Authenticate: Bearer',
    async (_name, headers: Record<string, string>, found) => {
      const api = await start();
      for (const [path, method] of [
        ['/readyz', 'GET'],
        ['/v1/audio/transcriptions', 'POST'],
      ] as const) {
        const response = await fetch(api.origin + path, { method, headers });
        expect(response.status).toBe(401);
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
        const message = expect.stringContaining(found);
        expect(await response.json()).toEqual({ error: 'unauthorized', message });
      }
    },
  );
  test('the scheme may be written in any case', async () => {
    const api = await start();
    const response = await fetch(`${api.origin}/readyz`, { headers: { authorization: `bearer ${TOKEN}` } });
    expect(response.status).toBe(503);
  });
  test('/healthz needs none', async () => {
    const api = await start();
    const response = await fetch(`${api.origin}/healthz`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(await response.json()).toEqual({ status: 'alive' });
  });
  test('in a query it is worth nothing, and is not logged', async () => {
    const api = await start();
    const response = await fetch(`${api.origin}/readyz?api_token=${TOKEN}&token=${TOKEN}`);
    expect(response.status).toBe(401);
    await api.logged((line) => line['msg'] === 'request' && line['route'] === '/readyz');
    expect(api.rawLog.join('')).not.toContain(TOKEN);
  });
});

describe('peer address', () => {
  const allowed = new Access(['192.0.2.7', '2001:db8::7', '::FFFF:192.0.2.9'], TOKEN, []);
  test.each([
    ['127.0.0.1', true],
    ['127.9.9.9', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['192.0.2.7', true],
    ['::ffff:192.0.2.7', true],
    ['::FFFF:192.0.2.7', true],
    ['192.0.2.9', true],
    ['::ffff:192.0.2.9', true],
    ['2001:db8::7', true],
    ['2001:0db8:0:0:0:0:0:7', true],
    ['192.0.2.8', false],
    ['::ffff:192.0.2.8', false],
    ['2001:db8::8', false],
    ['not an address', false],
    ['', false],
  ])('%s → %s', (peer, expected) => {
    expect(allowed.allowsPeer(peer)).toBe(expected);
  });

  const from = (address: string) => ({ ...AUTHORIZED, 'x-forwarded-for': address });

  test('behind a trusted proxy the first untrusted address counts: 403 for every path but /healthz', async () => {
    const api = await start({
      ASR_TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8',
      ASR_ALLOWED_CLIENTS: '192.0.2.7',
    });
    const status = async (path: string, address: string) =>
      (await fetch(api.origin + path, { headers: from(address) })).status;
    expect(await status('/readyz', '192.0.2.7')).toBe(503);
    expect(await status('/readyz', '192.0.2.7, 10.1.2.3')).toBe(503);
    expect(await status('/readyz', '192.0.2.8')).toBe(403);
    // A client's own header stands left of what the proxy adds.
    expect(await status('/readyz', '192.0.2.7, 192.0.2.8')).toBe(403);
    for (const path of [
      '/',
      '/api-docs',
      '/openapi.json',
      '/api-reference.md',
      '/nowhere',
      '/v1/audio/transcriptions',
      '/%zz',
      `/page/${'a'.repeat(300)}`,
      '/page/model.json',
    ]) {
      expect(await status(path, '192.0.2.8')).toBe(403);
    }
    expect(await status('/%zz', '192.0.2.7')).toBe(404);
    expect(await status('/healthz', '192.0.2.8')).toBe(200);
    const body: unknown = await (await fetch(`${api.origin}/readyz`, { headers: from('192.0.2.8') })).json();
    expect(body).toMatchObject({ error: 'forbidden', message: expect.stringContaining('192.0.2.8') });
    const refused = await StreamClient.refused(api.wsUrl, from('192.0.2.8'));
    expect(refused).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    for (const path of ['/%zz', '/readyz', '/openapi.json']) {
      const stray = await StreamClient.refused(api.wsUrl.replace('/ws/asr', path), from('192.0.2.8'));
      expect(stray).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    }
  });

  test.each([
    ['192.0.2.7:5555', 503],
    ['192.0.2.8:5555', 403],
    ['[2001:db8::7]:443', 503],
    ['[2001:db8::7]', 503],
    ['[2001:db8::8]:443', 403],
    ['192.0.2.7:5555, 10.1.2.3:80', 503],
    ['192.0.2.7, [2001:db8:1::5]:80', 503],
    ['192.0.2.7:5555, 192.0.2.8:80', 403],
    ['192.0.2.7:5555 , 10.1.2.3', 503],
    ['192.0.2.7:http', 403],
  ])('a proxy may write ports: %s → %i', async (hops, status) => {
    const api = await start({
      ASR_TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8,2001:db8:1::/48',
      ASR_ALLOWED_CLIENTS: '192.0.2.7,2001:db8::7',
    });
    expect((await fetch(`${api.origin}/readyz`, { headers: from(hops) })).status).toBe(status);
  });

  test('what a proxy says behind thousands of headers of its client counts too', async () => {
    const api = await start({ ASR_TRUSTED_PROXIES: '127.0.0.1' });
    const connection = await RawConnection.open(Number(new URL(api.origin).port));
    const headers = `${'a:b\r\n'.repeat(2_500)}X-Forwarded-For: 192.0.2.8\r\n`;
    connection.write(`GET /readyz HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    expect(await connection.answersUntil(1)).toMatchObject([{ status: 403 }]);
    connection.destroy();
  });

  test('without trusted proxies X-Forwarded-For is ignored', async () => {
    const api = await start();
    expect((await fetch(`${api.origin}/readyz`, { headers: from('192.0.2.8') })).status).toBe(503);
  });
});

describe('stream handshake', () => {
  test.each([
    ['/', 400],
    ['/healthz', 400],
    ['/openapi.json', 400],
    ['/v1/audio/transcriptions', 400],
    ['/nowhere', 404],
  ])('at %s, which is no stream → %i, and its query is not logged', async (path, status) => {
    const api = await start();
    const url = `${api.origin.replace('http', 'ws')}${path}?api_token=${TOKEN}`;
    const refusal = await StreamClient.refused(url);
    expect(refusal).toMatchObject({ status, connection: 'close' });
    if (status === 400) expect(JSON.stringify(refusal.body)).toContain('the stream is /ws/asr');
    await api.logged((line) => line['msg'] === 'request' && line['status'] === status);
    expect(api.rawLog.join('')).not.toContain(TOKEN);
  });
  // Before, ws answered with HTML of its own, past log and metrics.
  test.each(['a,a', 'a,,b', ' , ', 'a b', 'a/b'])(
    'the subprotocols %j are refused with 400 and JSON',
    async (names) => {
      const api = await start();
      expect(await StreamClient.refused(api.wsUrl, { 'sec-websocket-protocol': names })).toMatchObject({
        status: 400,
        body: { error: 'bad_request', message: expect.stringContaining('Sec-WebSocket-Protocol') },
      });
      await api.logged(({ msg, status }) => msg === 'request' && status === 400);
    },
  );
  test('of several subprotocols the first is taken', async () => {
    const api = await start();
    const socket = new WebSocket(api.wsUrl, ['b', 'a']);
    await once(socket, 'open');
    expect(socket.protocol).toBe('b');
    socket.terminate();
  });
  test('a wrong Authorization header is refused with 403 and JSON', async () => {
    const api = await start();
    expect(await StreamClient.refused(api.wsUrl, { authorization: 'Bearer wrong' })).toMatchObject({
      status: 403,
      connection: 'close',
      body: { error: 'forbidden' },
    });
  });
  test.each(['', ' \t '])(
    'an Authorization header without a value (%j) leaves it to `start`',
    async (authorization) => {
      const api = await start();
      for (const [fields, code] of [
        [{ api_token: TOKEN }, 'not_ready'],
        [{ api_token: 'wrong' }, 'unauthorized'],
        [{}, 'unauthorized'],
      ] as const) {
        const client = await StreamClient.connect(api.wsUrl, { authorization });
        client.start(fields);
        expect(await client.message('error')).toMatchObject({ code });
      }
    },
  );
  test('the default origins, the public one and those that are named may open it', async () => {
    const named = [
      'https://more.example',
      'null',
      'file://',
      'ws://10.0.0.5:9000',
      'capacitor://localhost',
      'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
      'moz-extension://7c1a8a2e-5b0f-4b5a-9c3e-2f6d1e0b4a59',
    ];
    const api = await start({
      ASR_PUBLIC_BASE_URL: 'https://asr.example.com/asr',
      ASR_ALLOWED_ORIGINS: named.join(),
    });
    const others = ['http://localhost:8088', 'http://127.0.0.1:8088', 'https://asr.example.com'];
    for (const origin of [...others, ...named])
      (await StreamClient.connect(api.wsUrl, { origin })).terminate();
  });
  test.each(['https://evil.example', 'http://localhost:8089', 'https://localhost:8088', 'null', 'file://'])(
    'origin %s is refused',
    async (origin) => {
      const api = await start();
      expect(await StreamClient.refused(api.wsUrl, { ...AUTHORIZED, origin })).toMatchObject({
        status: 403,
        body: { error: 'forbidden', message: expect.stringContaining(origin) },
      });
      const line = await api.logged(({ msg }) => msg === 'request');
      expect(line).toMatchObject({
        level: 30,
        code: 'forbidden',
        reason: expect.stringContaining(`origin ${origin}`),
      });
    },
  );
  test('the token in the place of the origin or path is not logged', async () => {
    const api = await start();
    await StreamClient.refused(api.wsUrl, { ...AUTHORIZED, origin: TOKEN });
    const { reason } = await api.logged(({ code }) => code === 'forbidden');
    expect(reason).toContain('origin [redacted]');
    await fetch(`${api.origin}/${TOKEN}`);
    await api.logged(({ status }) => status === 404);
    expect(api.rawLog.join('')).not.toContain(TOKEN);
  });
  test('a plain GET says that this path speaks WebSocket', async () => {
    const api = await start();
    const { status, headers } = await fetch(`${api.origin}/ws/asr`);
    expect([status, headers.get('upgrade'), headers.get('connection')]).toEqual([
      426,
      'websocket',
      'upgrade',
    ]);
    expect(await api.logged(({ msg }) => msg === 'request')).toMatchObject({ code: 'bad_request' });
  });
});

test('an idle connection stays open for longer than the proxies that are in use keep theirs', async () => {
  const api = await start();
  const { headers } = await fetch(`${api.origin}/healthz`);
  const seconds = /timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1];
  expect(Number(seconds)).toBeGreaterThan(600);
});

test('no CORS: another origin gets no permission', async () => {
  const api = await start();
  const response = await fetch(`${api.origin}/readyz`, {
    headers: { ...AUTHORIZED, origin: 'https://evil.example' },
  });
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
  const preflight = await fetch(`${api.origin}/readyz`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example' },
  });
  expect(preflight.status).toBe(405);
  expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
});

test('the id under which a request is logged is not its client’s to choose', async () => {
  const api = await start();
  const headers = Object.fromEntries(['request-id', 'x-request-id'].map((name) => [name, 'chosen']));
  await fetch(`${api.origin}/readyz`, { headers });
  const { requestId } = await api.logged(({ msg }) => msg === 'request');
  expect(requestId).toMatch(/^[0-9a-f]{32}$/);
});
