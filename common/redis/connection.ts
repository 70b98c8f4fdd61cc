import { Cluster, type RedisOptions as IoredisOptions, Redis } from 'ioredis';
import type { RedisTarget } from '../config/redis-url.ts';
import { unreachable } from '../errors/errors.ts';
import type { RedisClient } from './client.ts';
import { QuietSentinels } from './sentinels.ts';
import { TimedCluster, TimedRedis } from './timeouts.ts';

/** Replies keep their RESP2 shapes: flat lists, which the stream readers take apart. */
type RedisOptions = Omit<IoredisOptions, 'replyMapping' | 'enableOfflineQueue'> & {
  enableOfflineQueue?: boolean;
};

/**
 * What a connection is for. That decides how it meets an outage:
 * - `commands`: a request waits for the answer, so a command fails within a second instead of queueing.
 * - `blocking`: one reader in a loop of XREAD BLOCK (half a second at most). Without a connection its reads
 *   fail at once, so the loop waits before it tries again. A read is aborted by disconnecting.
 * - `bullmq`: the connections of BullMQ's worker, which must never give up.
 */
export type ConnectionUse = 'commands' | 'blocking' | 'bullmq';

const CONNECT_MS = 2_000;
const MAX_RECONNECT_DELAY_MS = 500;
const MAX_SENTINEL_RECONNECT_DELAY_MS = 5_000;
const SILENT_SOCKET_MS = 5_000;
/** Longer than BullMQ's own blocking reads, which take up to 10 s. */
const SILENT_BULLMQ_SOCKET_MS = 15_000;
const READ_ONLY = 'read-only';
const CLOSED = 'closed for good';
/** What ioredis's error begins with when a `socketTimeout` has run out. */
const SILENCE = 'Socket timeout.';

/**
 * Opens one connection. It begins to connect at once, keeps trying until `closeRedis`, and reports its errors
 * only through `onError`.
 */
export function connectRedis(
  target: RedisTarget,
  use: ConnectionUse,
  name: string,
  onError: (error: Error) => void,
): RedisClient {
  let leftAtMs = Number.NEGATIVE_INFINITY;
  const options: RedisOptions = {
    connectionName: name,
    retryStrategy: (attempt) => Math.min(25 * attempt, MAX_RECONNECT_DELAY_MS),
    connectTimeout: CONNECT_MS,
    // A master that became a replica keeps its connections, but by now the same name may lead to a new
    // master. So the client connects again. While there is no new master, connecting at each refusal would be
    // over a hundred connections a second.
    reconnectOnError: (error) => {
      if (!refusedWith('READONLY', error.message)) return false;
      const nowMs = performance.now();
      if (nowMs - leftAtMs < MAX_RECONNECT_DELAY_MS) return false;
      leftAtMs = nowMs;
      client.emit(READ_ONLY);
      return true;
    },
    ...optionsOf(use),
  };
  const client: RedisClient = open(target, options, use);
  client.on('error', (error) => {
    // The client itself would go on in database 0, which may be another service's.
    if (isAnswerToSelect(error)) client.disconnect(true);
    onError(error);
  });
  // A disconnect while the client connects, as in a second failover, ends it for good, even if it was told to connect again.
  const reconnect = (): void => void client.connect().catch(() => undefined);
  client.on('end', reconnect);
  client.once(CLOSED, () => client.off('end', reconnect));
  return client;
}

/** Ends a connection for good. */
export function closeRedis(client: RedisClient): void {
  client.emit(CLOSED);
  client.disconnect();
}

/**
 * Whether Redis refused the database in REDIS_URL. ioredis would go on in database 0; it puts the name of a
 * refused command into the error.
 */
export function isAnswerToSelect(error: Error & { command?: { name?: unknown } }): boolean {
  return error.command?.name === 'select';
}

/** `socketTimeout` ends a connection whose other side has vanished without a word; nothing else would for many minutes. */
function optionsOf(use: ConnectionUse): RedisOptions {
  switch (use) {
    case 'commands':
      return {
        enableOfflineQueue: false,
        maxRetriesPerRequest: 1,
        socketTimeout: SILENT_SOCKET_MS,
      };
    case 'blocking':
      // Reads are neither kept during an outage nor sent again after it: the old ones would stand in a row,
      // each blocking the next.
      return {
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        socketTimeout: SILENT_SOCKET_MS,
        // A connection is given up when nobody answers on it (see blockingRead). Such a server will not say goodbye either.
        disconnectTimeout: 100,
      };
    case 'bullmq':
      return { maxRetriesPerRequest: null, socketTimeout: SILENT_BULLMQ_SOCKET_MS };
    default:
      return unreachable(use);
  }
}

function open(target: RedisTarget, options: RedisOptions, use: ConnectionUse): RedisClient {
  const Single = use === 'commands' ? TimedRedis : Redis;
  const Several = use === 'commands' ? TimedCluster : Cluster;
  switch (target.kind) {
    case 'single': {
      const client = new Single(target.url, options);
      // A TLS handshake that is aborted can fail twice if the certificate is not trusted. ioredis hears only
      // the first error; the second would end this process.
      client.on('connecting', () => setImmediate(() => client.stream?.on('error', () => undefined)));
      return client;
    }
    case 'sentinel':
      return new Single({
        ...options,
        ...target.options,
        sentinels: target.sentinels,
        // Sentinels with a password mostly have the master's; those without one let it pass.
        ...(target.options.password === undefined ? {} : { sentinelPassword: target.options.password }),
        name: target.name,
        sentinelRetryStrategy: (attempt) => Math.min(25 * attempt, MAX_RECONNECT_DELAY_MS),
        // A Sentinel that stands still takes connections. Without this limit the others would never be asked.
        sentinelCommandTimeout: CONNECT_MS,
        failoverDetector: true,
        // A Sentinel that is started again is listened to again.
        sentinelReconnectStrategy: (attempt) => Math.min(100 * attempt, MAX_SENTINEL_RECONNECT_DELAY_MS),
        Connector: QuietSentinels,
      });
    case 'cluster':
      return new Several(target.nodes, {
        redisOptions: { ...options, ...target.options },
        enableOfflineQueue: options.enableOfflineQueue ?? true,
        clusterRetryStrategy: (attempt) => Math.min(25 * attempt, MAX_RECONNECT_DELAY_MS),
      });
    default:
      return unreachable(target);
  }
}

/**
 * Reconnects the connections that read or wait when the one that writes must. Only the writer is told
 * `READONLY`: the others would stay on a server that is a replica now. The writer is also the first to notice
 * that a server has vanished without a word: BullMQ's connections would wait three times as long.
 */
export function follow(writer: RedisClient, others: readonly RedisClient[]): void {
  const leave = (): void => {
    for (const other of others) other.disconnect(true);
  };
  writer.on(READ_ONLY, leave);
  writer.on('error', (error: Error) => {
    if (error.message.startsWith(SILENCE)) leave();
  });
}

/**
 * Whether Redis refused with this word. Before 7.0 an error inside a script stands further back: `ERR Error
 * running script (…): … -OOM …`.
 */
export function refusedWith(word: string, answer: string): boolean {
  return answer.startsWith(`${word} `) || answer.includes(`: -${word} `);
}

/** Waits until the connection answers, `false` when it does not within `timeoutMs`. */
export async function whenReady(client: RedisClient, timeoutMs: number): Promise<boolean> {
  if (client.status === 'ready') return true;
  return new Promise((resolve) => {
    const done = (ready: boolean) => () => {
      clearTimeout(timer);
      client.off('ready', onReady);
      resolve(ready);
    };
    const onReady = done(true);
    const timer = setTimeout(done(false), timeoutMs);
    client.once('ready', onReady);
  });
}
