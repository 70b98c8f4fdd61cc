import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { pullModel } from '../../../../models/download/pull.ts';
import { ModelFailure } from '../../../../models/failure.ts';
import { SMALL_CLI, start } from '../command/command-line.ts';
import { ARCHIVE, entryFor, ScreenText, temporaryFolders } from '../small-model.ts';
import { ArchiveServer } from './archive-server.ts';

/** @returns the host and port of a server that ends with the test */
async function proxyOf(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

it.each(['all_proxy', 'ALL_PROXY'])(
  'goes through the SOCKS proxy of %s, which looks the name up',
  async (variable) => {
    const mirror = new ArchiveServer(ARCHIVE);
    await mirror.listen();
    onTestFinished(() => mirror.close());
    const asked: string[] = [];
    // RFC 1928: a greeting and its answer (no authentication), CONNECT with a name and its answer, then the
    // connection's bytes.
    const address = await proxyOf((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.from([5, 0]));
        socket.once('data', (request) => {
          const nameEnd = 5 + request.readUInt8(4);
          asked.push(`${request.toString('latin1', 5, nameEnd)}:${request.readUInt16BE(nameEnd)}`);
          const upstream = connect(Number(new URL(mirror.url).port), '127.0.0.1', () => {
            socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
            upstream.pipe(socket).pipe(upstream);
          });
          upstream.on('error', () => socket.destroy());
        });
      });
    });
    const settings = JSON.stringify({
      root: dirname(dirname((await temporaryFolders()).downloaded)),
      catalogue: [entryFor()],
      timing: { stallTimeoutMs: 10_000, retryDelaysMs: [] },
    });
    const { code, stderr } = await start(SMALL_CLI, [settings, 'pull', 'small'], {
      ASR_MODEL_MIRROR: 'http://mirror.invalid',
      [variable]: `SOCKS5h://${address}`,
    }).finished;
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^small: .*\(100 %\)/m)]);
    expect(asked).toEqual(['mirror.invalid:80']);
  },
);

it('gives up on a proxy that closes every connection, as a SOCKS proxy does', async () => {
  const asked: string[] = [];
  const close = (socket: Socket, request: Buffer): void => {
    asked.push(request.toString('latin1').split('\r\n')[0] ?? '');
    socket.destroy();
  };
  // The tunnel for https:// and the plain question for http:// are two ways through undici.
  await expectGivenUp('https://mirror.invalid', 'the proxy: other side closed', 60_000, close);
  const tunnel = 'CONNECT mirror.invalid:443 HTTP/1.1';
  expect(asked).toEqual([tunnel, tunnel]);
  await expectGivenUp('http://mirror.invalid', 'other side closed', 60_000, close);
  expect(asked).toHaveLength(4);
});

it.each(['http://mirror.invalid', 'https://mirror.invalid'])(
  'gives up on a proxy that says nothing to %s',
  async (mirror) => {
    await expectGivenUp(mirror, 'nothing came for 0.5 s', 500, () => undefined);
  },
);

it('goes through the proxy that the environment names for the address, lower case first, and past it where NO_PROXY says so', async () => {
  const asked: string[] = [];
  const address = await proxyOf((socket) => {
    socket.once('data', (request) => {
      asked.push(request.toString('latin1').split('/')[0] ?? '');
      socket.destroy();
    });
  });
  const ours = `http://${address}`;
  const wrong = 'http://wrong.invalid:3128';
  const cases: [mirror: string, env: Record<string, string>, expected: string][] = [
    ['https://a.invalid', { https_proxy: ours, HTTPS_PROXY: wrong }, 'CONNECT a.invalid:443 HTTP'],
    ['https://b.invalid', { HTTPS_PROXY: ours, all_proxy: wrong }, 'CONNECT b.invalid:443 HTTP'],
    [
      'https://c.invalid',
      { all_proxy: ours, ALL_PROXY: wrong, HTTP_PROXY: wrong },
      'CONNECT c.invalid:443 HTTP',
    ],
    ['http://d.invalid', { http_proxy: ours, HTTP_PROXY: wrong }, 'GET http:'],
    ['http://e.invalid', { HTTP_PROXY: ours, ALL_PROXY: wrong }, 'GET http:'],
    [ours, { HTTP_PROXY: wrong, no_proxy: '127.0.0.1', NO_PROXY: 'x' }, 'GET '],
    [ours, { HTTP_PROXY: wrong, NO_PROXY: '127.0.0.1' }, 'GET '],
  ];
  const pulls = cases.map(async ([mirror, env]) => {
    const settings = JSON.stringify({
      root: dirname(dirname((await temporaryFolders()).downloaded)),
      catalogue: [entryFor(Buffer.from('x'))],
      timing: { stallTimeoutMs: 10_000, retryDelaysMs: [] },
    });
    const script = SMALL_CLI;
    return (await start(script, [settings, 'pull', 'small'], { ASR_MODEL_MIRROR: mirror, ...env }).finished)
      .code;
  });
  expect(await Promise.all(pulls)).toEqual(cases.map(() => 1));
  expect(asked.sort()).toEqual(cases.map(([, , expected]) => expected).sort());
});

async function expectGivenUp(
  mirror: string,
  reason: string,
  stallTimeoutMs: number,
  answer: (socket: Socket, request: Buffer) => void,
): Promise<void> {
  const address = await proxyOf((socket) => {
    socket.once('data', (request) => answer(socket, request));
  });
  const env = { ASR_MODEL_MIRROR: mirror, ALL_PROXY: `http://${address}` };
  const outcome: unknown = await pullModel({
    entry: entryFor(Buffer.from('x')),
    from: undefined,
    folders: await temporaryFolders(),
    network: { env, stallTimeoutMs, retryDelaysMs: [0] },
    screen: new ScreenText(),
    signal: new AbortController().signal,
  }).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(ModelFailure);
  expect((outcome as Error).message).toContain(
    `: cannot reach it (${reason}); gave up after 2 tries at 0 B of 1 B.`,
  );
}
