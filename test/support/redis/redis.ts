import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Store } from '../../../common/store/store.ts';
import { freePort } from '../../../launch/supervisor/ports.ts';
import { type RedisServer, startServer } from './redis-server.ts';

/** A real Redis of one test file, on 127.0.0.1 with a free port, without persistence unless asked for. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** A client for the test's own looks into the store; `stop()` closes it. */
  readonly client: Redis;
  /** On that client, under `{asr}`. */
  readonly store: Store;
  /** Every key that is there, sorted. */
  keys(pattern?: string): Promise<string[]>;
  /** Stops the server as a crash would; what it held is gone. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port. */
  restart(): Promise<void>;
  /** Connections stay open and nobody answers. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Ends the client and the server. */
  stop(): Promise<void>;
}

/** Redis neither writes nor loads a dump: a stray file in the temporary folder must not become test data. */
const NO_PERSISTENCE = [
  ...['--save', '', '--appendonly', 'no', '--dbfilename', 'of-no-test.rdb'],
  ...['--repl-diskless-load', 'swapdb'],
];

/**
 * @param serverArgs e.g. `['--requirepass', 'secret']`; the last of equal options wins.
 * @param firstArgs what must stand before all options: a configuration file, `--sentinel`
 * @param image the container image it runs in; none: the `redis-server` of this machine.
 * test/support/redis/choose-redis.ts sets the variable.
 */
export async function startRedis(
  serverArgs: readonly string[] = [],
  firstArgs: readonly string[] = [],
  image = process.env['ASR_TEST_REDIS_IMAGE'] || undefined,
): Promise<TestRedis> {
  let [server, port] = await startOnFreePort(serverArgs, firstArgs, image);
  const client = new Redis({
    port,
    host: '127.0.0.1',
    lazyConnect: true,
    maxRetriesPerRequest: null,
    retryStrategy: () => 50,
  });
  client.on('error', () => {});
  // Where the server wants a password, the test makes its own client.
  if (!serverArgs.includes('--requirepass')) await client.connect();
  let running = true;
  const kill = async (): Promise<void> => {
    if (!running) return;
    running = false;
    await server.kill();
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    client,
    store: new Store(client, '{asr}'),
    keys: async (pattern = '*') => (await client.keys(pattern)).sort(),
    kill,
    async restart() {
      await kill();
      server = await startServer(argsFor(port, serverArgs, firstArgs), image);
      running = true;
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    async stop() {
      client.disconnect();
      await kill();
    },
  };
}

/** A Sentinel with these settings, e.g. `monitor NAME HOST PORT 1`. */
export async function startSentinel(
  settings: readonly string[],
  serverArgs: readonly string[] = [],
): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'asr-sentinel-'));
  const configuration = join(folder, 'sentinel.conf');
  writeFileSync(configuration, settings.map((setting) => `sentinel ${setting}\n`).join(''));
  return withFolder(folder, await startRedis(serverArgs, [configuration, '--sentinel']));
}

/** A node for a Cluster, which owns no keys yet. */
export async function startClusterNode(serverArgs: readonly string[] = []): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'asr-cluster-'));
  const settings = ['--dir', folder, '--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];
  return withFolder(folder, await startRedis([...settings, ...serverArgs]));
}

/** A Cluster of one node. */
export async function startCluster(): Promise<TestRedis> {
  const node = await startClusterNode();
  await node.client.cluster('ADDSLOTSRANGE', 0, 16_383);
  while (!String(await node.client.cluster('INFO')).includes('cluster_state:ok')) await delay(20);
  return node;
}

function withFolder(folder: string, redis: TestRedis): TestRedis {
  return {
    ...redis,
    async stop() {
      await redis.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The URL of a user who may do what README's section on deployment names, and no more. */
export async function leastUser({ client, url }: TestRedis): Promise<string> {
  const rights = ['~{asr}*', '+@all', '-@admin', '-@dangerous'];
  await client.call('ACL', 'SETUSER', 'asr', 'on', '>secret', ...rights);
  return url.replace('//', '//asr:secret@');
}

async function startOnFreePort(
  serverArgs: readonly string[],
  firstArgs: readonly string[],
  image: string | undefined,
): Promise<[RedisServer, number]> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return [await startServer(argsFor(port, serverArgs, firstArgs), image), port];
    } catch (error) {
      // Another process can take the port between the question and the start.
      if (attempt === 5) throw error;
    }
  }
}

function argsFor(port: number, serverArgs: readonly string[], firstArgs: readonly string[]): string[] {
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', tmpdir()];
  return [...firstArgs, ...args, ...(firstArgs.length > 0 ? [] : NO_PERSISTENCE), ...serverArgs];
}
