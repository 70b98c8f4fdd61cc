import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { RawConnection } from '../../../fuzz/raw-connection.ts';
import { StreamClient } from '../../../support/clients/stream-client.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { startApi, type TestApi } from '../../../support/service/api.ts';

let redis: TestRedis;
let api: TestApi;

beforeAll(async () => {
  redis = await startRedis();
  api = await startApi(redis.url);
});
afterAll(async () => {
  await api.stop();
  await redis.stop();
});

async function connected(): Promise<StreamClient> {
  const client = await StreamClient.connect(api.wsUrl);
  onTestFinished(() => client.terminate());
  return client;
}

// 430 sockets ended a replica of 512 MB in 2 s, without a token.
test('the socket that holds most is refused once all hold more than 32 MiB of unfinished messages', async () => {
  const most = await connected();
  most.unfinished(Buffer.alloc(1_000_000));
  const others: StreamClient[] = [];
  while (most.received.length === 0) {
    const other = await connected();
    other.unfinished(Buffer.alloc(900_000));
    others.push(other);
    await nextTurn();
  }
  expect(await most.message('error')).toEqual({
    type: 'error',
    code: 'not_ready',
    message: 'too many unfinished messages at once; try again shortly',
  });
  expect(await most.closed()).toBe(1011);
  expect(others.length).toBeGreaterThan(32);
  expect(await api.logged(({ code }) => code === 'not_ready')).toMatchObject({
    msg: 'stream session',
    outcome: 'error',
    reason: expect.stringContaining('too many unfinished messages'),
  });

  // What a message held comes back with its end. The last of these may have been too many, too.
  for (const other of others) other.audio(Buffer.alloc(2));
  const codes = await Promise.all(others.map(async (other) => (await other.message('error'))['code']));
  expect(codes.filter((code) => code === 'invalid_sequence').length).toBeGreaterThan(30);
});

// Else each read of up to 64 KiB was worked off in one turn: 40 such sockets kept `/healthz` waiting for 7 s.
test('of what a socket sends at once, each turn of the process takes one frame', async () => {
  const FRAMES = 2_000;
  const pongs = Buffer.concat(new Array<Buffer>(FRAMES).fill(Buffer.from([0x8a, 0x80, 0, 0, 0, 0])));
  const connection = await RawConnection.open(Number(new URL(api.origin).port));
  onTestFinished(() => connection.destroy());
  connection.write(
    [
      ...['GET /ws/asr HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket'],
      ...['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', '', ''],
    ].join('\r\n'),
  );
  while (connection.received.indexOf('\r\n\r\n') < 0) await connection.change();
  connection.forget();
  let turns = 0;
  // Its answer is an error.
  connection.write(Buffer.concat([pongs, Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x78])]));
  while (connection.received.length === 0) {
    turns += 1;
    await nextTurn();
  }
  expect(turns).toBeGreaterThan(FRAMES);
});
