import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { InFlight } from '../../../../api/http/in-flight.ts';
import { UnderWay } from '../../../../common/process/under-way.ts';

test('a connection that is kept, as a load balancer does, remembers no request that is over', async () => {
  const app = fastify();
  let ends = 0;
  const underWay = new UnderWay();
  const inFlight = new InFlight(underWay, () => {
    ends += 1;
  });
  inFlight.watch(app);
  app.get('/', async () => 'ok');
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  const connected = once(app.server, 'connection') as Promise<[Socket]>;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const { port } = app.server.address() as AddressInfo;
  const listeners: number[] = [];
  for (let request = 1; request <= 20; request += 1) {
    const [response]: IncomingMessage[] = await once(get({ port, host: '127.0.0.1', agent }), 'response');
    response?.resume();
    await Promise.all([response && once(response, 'end'), expect.poll(() => ends).toBe(request)]);
    const [socket] = await connected;
    listeners.push(socket.listenerCount('close'));
  }
  expect(new Set(listeners).size).toBe(1);
  await underWay.quiet(0, 1_000);
});

test('requests that never cease on a kept connection do not keep a shutdown for ever', async () => {
  const app = fastify();
  const underWay = new UnderWay();
  const inFlight = new InFlight(underWay, () => undefined);
  inFlight.watch(app);
  app.get('/', async () => 'ok');
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  let isOver = false;
  const drained = underWay.quiet(50, 200).then(() => {
    isOver = true;
  });
  while (!isOver) await (await fetch(origin)).text();
  await drained;
});
