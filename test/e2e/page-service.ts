import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { ProcessUnderTest } from '../support/inference-process.ts';
import { startRedis } from '../support/redis.ts';

export const TOKEN = 'page-test-token-0123456789';

/** The network between the browser and the service: a TCP relay that can be cut. */
export interface Wire {
  readonly port: number;
  /** Breaks every connection, and refuses new ones until `mend`. */
  cut(): void;
  mend(): void;
}

/** The whole service as real processes: Redis, an api replica, and inference with the bundled model once it is started. */
export interface PageService {
  /** The page's address, through the wire. */
  readonly origin: string;
  /** Past the wire, for the test's own clients. */
  readonly directOrigin: string;
  readonly wire: Wire;
  startInference(): ProcessUnderTest;
  stop(): Promise<void>;
}

async function layWire(targetPort: () => number): Promise<Wire & { close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer((client) => {
    if (!whole) {
      client.resetAndDestroy();
      return;
    }
    const upstream = dial(targetPort(), '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      // A reset is what `cut` is for; `close` follows it.
      from.on('error', () => {});
      from.pipe(to);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const breakAll = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: address.port,
    cut() {
      whole = false;
      breakAll();
    },
    mend() {
      whole = true;
    },
    async close() {
      breakAll();
      server.close();
      await once(server, 'close');
    },
  };
}

/** @param settings of the API besides those that are needed */
export async function startPageService(settings: Record<string, string> = {}): Promise<PageService> {
  const redis = await startRedis();
  let apiPort = 0;
  const wire = await layWire(() => apiPort);
  const origin = `http://127.0.0.1:${wire.port}`;
  const env = { REDIS_URL: redis.url, ASR_API_TOKEN: TOKEN };
  const own = { ASR_PORT: '0', ASR_ALLOWED_ORIGINS: origin };
  const api = new ProcessUnderTest('api/main.js', { ...env, ...own, ...settings });
  const processes = [api];
  const stop = async (): Promise<void> => {
    await wire.close();
    for (const process of processes) await process.stop();
    await redis.stop();
  };
  const failed = api.exited.then(() => {
    throw new Error(`the api has ended:\n${api.stdout}${api.stderr}`);
  });
  failed.catch(() => {});
  const [message] = await Promise.race([once(api.child, 'message'), failed]);
  apiPort = Number(new URL(message.origin).port);
  return {
    origin,
    directOrigin: message.origin,
    wire,
    startInference() {
      const inference = new ProcessUnderTest('inference/main.js', env);
      processes.push(inference);
      return inference;
    },
    stop,
  };
}
