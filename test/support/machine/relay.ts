import { EventEmitter, once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A TCP address on 127.0.0.1 behind which the server can change, as behind a name or a virtual address. */
export interface Relay {
  readonly port: number;
  /** New connections and held ones go to this port; open ones stay where they are. */
  to(port: number): void;
  /** Ends open connections, and new ones at once, until `to`. */
  cut(): void;
  /** New connections go to this port; the open ones' server is gone, and no word of that reaches whoever waits for it. */
  vanish(port: number): void;
  /** Takes new connections and leaves them without an answer until `to`. @returns when the first one is there */
  hold(): Promise<void>;
  /** From now on the server's answers arrive so much later. */
  slow(answersTakeMs: number): void;
  stop(): Promise<void>;
}

/** @param answersTakeMs how much later than without it the server's answers arrive */
export async function startRelay(target: number, answersTakeMs = 0): Promise<Relay> {
  let answersMs = answersTakeMs;
  let current: number | 'cut' | 'held' = target;
  const sockets = new Set<Socket>();
  const upstreams = new Set<Socket>();
  const held: Socket[] = [];
  const arrivals = new EventEmitter();
  const server = createServer((client) => {
    if (current === 'cut') return void client.destroy();
    if (current !== 'held') return join(client, current);
    held.push(client);
    arrivals.emit('held');
  });
  const join = (client: Socket, port: number): void => {
    const upstream = connect(port, '127.0.0.1');
    upstreams.add(upstream);
    for (const [from, into] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => into.destroy());
      from.on('close', () => {
        sockets.delete(from);
        if (upstreams.delete(from) || from === client) into.destroy();
      });
      if (from === upstream) handOn(from, into, () => answersMs);
      else from.pipe(into);
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    to: (port) => {
      current = port;
      for (const client of held.splice(0)) join(client, port);
    },
    vanish: (port) => {
      current = port;
      for (const upstream of upstreams) {
        upstreams.delete(upstream);
        upstream.destroy();
      }
    },
    cut: () => {
      current = 'cut';
      for (const socket of sockets) socket.destroy();
    },
    async hold() {
      current = 'held';
      await once(arrivals, 'held');
    },
    slow: (answersTakeMs) => {
      answersMs = answersTakeMs;
    },
    async stop() {
      server.close();
      for (const socket of [...sockets, ...held]) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** In the order in which it comes, each piece so much later than it came. */
function handOn(from: Socket, into: Socket, takesMs: () => number): void {
  let before: Promise<unknown> = Promise.resolve();
  from.on('data', (bytes) => {
    const ready = takesMs() > 0 ? delay(takesMs()) : undefined;
    before = before.then(() => ready).then(() => into.writable && into.write(bytes));
  });
}
