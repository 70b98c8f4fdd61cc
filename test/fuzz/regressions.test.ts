import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parseClientMessage } from '../../common/messages/stream.ts';
import { TOKEN } from '../support/service/api.ts';
import { assertDocumented } from './http-answers.ts';
import type { RawConnection } from './raw-connection.ts';
import { FuzzService } from './service.ts';

/** What the fuzz tests have found, each as the smallest case. */
describe('control messages', () => {
  test('an error that quotes a long value does not cut a character into halves', () => {
    const type = `a${'\u{1f3a4}'.repeat(40)}`;
    expect(() => parseClientMessage(JSON.stringify({ type }))).toThrow(/^[^\p{Surrogate}]+$/u);
  });
});

describe('broken HTTP', () => {
  let service: FuzzService;
  beforeAll(async () => {
    service = await FuzzService.start();
  });
  // Both fail for a connection or a request that is left behind.
  afterEach(async () => service.afterCase());
  afterAll(async () => service.stop());

  const handshake = `Host: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n`;
  async function sent(text: string): Promise<RawConnection> {
    const connection = await service.connect();
    connection.write(text);
    return connection;
  }

  test.each([
    ['a path that cannot be decoded', 'GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n', 404],
    ['a path with a long part', `GET /page/${'a'.repeat(16_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 404],
    [
      'a path that the static files refuse',
      `GET /api-docs/static/${'a'.repeat(300)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      404,
    ],
    ['a method of another protocol', 'FLUSH / RTSP/1.0\r\nHost: x\r\n\r\n', 404],
    [
      'a method that asks with a body',
      'QUERY /healthz HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nhi',
      405,
    ],
    ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n', 400],
    ['a handshake without a key', `GET /ws/asr HTTP/1.1\r\n${handshake}\r\n`, 400],
    [
      'a handshake with POST, which is a plain request',
      `POST /v1/audio/transcriptions HTTP/1.1\r\n${handshake}Authorization: Bearer ${TOKEN}\r\n\r\n`,
      422,
    ],
  ])('%s has the form of the interface', async (_name, text, status) => {
    const [answer] = await (await sent(text)).answersUntil(1);
    expect(answer?.status).toBe(status);
    if (answer) assertDocumented(answer);
  });

  test.each([
    ['Connection: close', 'GET /ws/asr HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['HTTP/1.0, as of a proxy that passes no Upgrade on', 'GET /ws/asr HTTP/1.0\r\n\r\n'],
  ])('the answer of 426 is the last one of a connection with %s', async (_name, text) => {
    const connection = await sent(text);
    await connection.untilClosed();
    expect(connection.answers()).toMatchObject([{ status: 426 }]);
  });

  test('an expectation that nobody knows is no reason to refuse', async () => {
    const connection = await sent('GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: nonsense\r\n\r\n');
    expect(await connection.answersUntil(1)).toMatchObject([{ status: 200 }]);
  });

  test('a WebSocket handshake for a path that cannot be decoded leaves no socket behind', async () => {
    const connection = await sent(`GET /%zz HTTP/1.1\r\n${handshake}\r\n`);
    await connection.untilClosed();
    expect(connection.answers()).toMatchObject([{ status: 404 }]);
  });

  test('a handshake may write the name of its protocol as it likes', async () => {
    const key = `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n`;
    const named = handshake.replace('websocket', 'WebSocket');
    const connection = await sent(`GET /ws/asr HTTP/1.1\r\n${named}${key}\r\n`);
    await expect.poll(() => connection.received.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /);
    connection.end();
    await connection.untilClosed();
  });

  test('a request whose connection has gone before it is looked at is no fault of the server', async () => {
    // For CONNECT the server has no answer but to cut the connection.
    const connection = await sent(
      'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nCONNECT / HTTP/1.1\r\nHost: x\r\n\r\n',
    );
    await connection.untilClosed();
    await service.afterCase();
  });

  test('a handshake with a method of another protocol leaves no socket behind', async () => {
    const connection = await sent(`FLUSH / RTSP/1.0\r\n${handshake}\r\n`);
    await connection.answersUntil(1);
    connection.end();
    await connection.untilClosed();
  });

  test('a connection with broken HTTP ends also when the client leaves its side open', async () => {
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.resume();
    const ended = once(socket, 'end');
    socket.write('NONSENSE\r\n\r\n');
    await ended;
    // The server's side is really closed when its system refuses what still comes.
    const more = setInterval(() => socket.write('x'), 20);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(more);
  });
});
