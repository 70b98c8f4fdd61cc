import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ModelFailure } from '../../../models/failure.ts';
import { pullModel } from '../../../models/pull.ts';
import { entryFor, Screen, temporaryFolders } from './small-model.ts';

it.each([
  [
    'closes every connection, as a SOCKS proxy does',
    'other side closed',
    // Longer than any machine stands still: it is the connection's end that ends each try.
    60_000,
    (socket: Socket) => void socket.destroy(),
  ],
  ['says nothing', 'Headers Timeout Error', 500, () => undefined],
])('gives up on a proxy that %s', async (_, reason, stallTimeoutMs, answer) => {
  const sockets = new Set<Socket>();
  let connections = 0;
  const proxy = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    socket.once('data', () => answer(socket));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const httpProxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const network = {
    mirror: 'http://127.0.0.1:8080',
    httpProxy,
    httpsProxy: undefined,
    noProxy: undefined,
    stallTimeoutMs,
    retryDelaysMs: [0],
  };
  const outcome: unknown = await pullModel({
    entry: entryFor(Buffer.from('x')),
    folders: await temporaryFolders(),
    network,
    output: new Screen(),
    signal: new AbortController().signal,
  }).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(ModelFailure);
  expect((outcome as Error).message).toContain(
    `: cannot reach it (the proxy: ${reason}); gave up after 2 tries at 0 B of 1 B. `,
  );
  expect(connections).toBe(2);
});
