import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP address on 127.0.0.1 behind which the server can change, as behind a name or a virtual address. */
export interface Relay {
  readonly port: number;
  /** New connections go to this port; open ones stay where they are. */
  to(port: number): void;
  /** Ends open connections, and new ones at once, until `to`. */
  cut(): void;
  stop(): Promise<void>;
}

/** @param answersTakeMs how much later than without it the server's answers arrive */
export async function startRelay(target: number, answersTakeMs = 0): Promise<Relay> {
  let current: number | undefined = target;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (current === undefined) return void client.destroy();
    const upstream = connect(current, '127.0.0.1');
    for (const [from, into] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => into.destroy());
      from.on('close', () => {
        sockets.delete(from);
        into.destroy();
      });
      if (from === upstream && answersTakeMs > 0)
        from.on('data', (bytes) => setTimeout(() => into.writable && into.write(bytes), answersTakeMs));
      else from.pipe(into);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    to: (port) => {
      current = port;
    },
    cut: () => {
      current = undefined;
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
