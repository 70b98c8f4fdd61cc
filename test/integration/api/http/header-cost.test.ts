import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wavFile } from '../../../support/audio/wav.ts';
import { filePart, form } from '../../../support/clients/form.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { AUTHORIZED, startApi, type TestApi } from '../../../support/service/api.ts';
import { scriptedPcm } from '../../../support/service/scripted-recognizer.ts';

let redis: TestRedis;
let api: TestApi;

beforeAll(async () => {
  redis = await startRedis();
  api = await startApi(redis.url, { ASR_TRUSTED_PROXIES: '127.0.0.1', ASR_LOG_LEVEL: 'error' });
});
afterAll(async () => {
  await api.stop();
  await redis.stop();
});

const { body, type } = form([filePart(wavFile(scriptedPcm(0.1)))]);
const UPLOAD = {
  path: '/v1/audio/transcriptions',
  method: 'POST',
  body,
  headers: { ...AUTHORIZED, 'content-type': type, 'content-length': String(body.length) },
};
const HANDSHAKE = {
  path: '/ws/asr',
  method: 'GET',
  body: Buffer.alloc(0),
  headers: {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  },
};
const PAGE = { path: '/api-reference', method: 'GET', body: Buffer.alloc(0), headers: {} };
type Target = typeof UPLOAD | typeof HANDSHAKE | typeof PAGE;

/** Each header that the service, or a library below it, reads; with what the value begins, and where it is sent. */
const HEADERS: readonly (readonly [string, string, Target])[] = [
  ['accept-language', 'zh', PAGE],
  ['if-none-match', 'W/"a"', PAGE],
  ['x-forwarded-for', '127.0.0.1', PAGE],
  ['x-forwarded-for', '[::1', PAGE],
  ['host', 'x', PAGE],
  ['upgrade', 'h2c', PAGE],
  ['connection', 'close', PAGE],
  ['accept', '*/*', PAGE],
  ['authorization', 'Bearer x', UPLOAD],
  ['content-type', 'multipart/form-data; boundary=x', UPLOAD],
  ['content-type', 'multipart/form-data; boundary="', UPLOAD],
  ['content-type', 'multipart/form-data', UPLOAD],
  ['content-encoding', 'identity', UPLOAD],
  ['expect', 'x', UPLOAD],
  ['authorization', 'Bearer x', HANDSHAKE],
  ['origin', 'http://x', HANDSHAKE],
  ['sec-websocket-key', 'x', HANDSHAKE],
  ['sec-websocket-version', '13', HANDSHAKE],
  ['sec-websocket-protocol', 'a', HANDSHAKE],
  ['sec-websocket-extensions', 'permessage-deflate', HANDSHAKE],
];
const FILLINGS = [' ', 'a', '1', ',', '; ', '"', '=', '.', ':', 'a, '];
const SENT = 3;

/** CPU time of this process, server and client in one, for a few requests, in ms. */
async function costMs({ path, method, headers, body }: Target, name: string, value: string): Promise<number> {
  const before = process.cpuUsage();
  for (let n = 0; n < SENT; n += 1) {
    const sent = request(`${api.origin}${path}`, { method, headers: { ...headers, [name]: value } });
    sent.on('error', () => undefined);
    sent.on('upgrade', (_response, socket) => socket.destroy());
    sent.on('response', (response) => response.resume());
    sent.end(body);
    await once(sent, 'close');
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

// 15 kB of blanks in Accept-Language took 100 to 180 ms of the replica, and ended another client's stream.
test.each(HEADERS)('%s: %s… costs no more than in proportion', async (name, begin, target) => {
  for (const filling of FILLINGS) {
    const value = (bytes: number): string => `${begin}${filling.repeat(bytes / filling.length)}b`;
    const [short, long] = [value(1_500), value(15_000)];
    let growth = Number.POSITIVE_INFINITY;
    // A compiler, or a collector, may have worked meanwhile.
    for (let tries = 0; tries < 5 && growth > 20; tries += 1)
      growth = (await costMs(target, name, long)) / (await costMs(target, name, short));
    expect(growth, `filled with ${JSON.stringify(filling)}`).toBeLessThanOrEqual(20);
  }
});
