import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';

/** One running redis-server: a container, or a process of this machine. */
export interface RedisServer {
  /** As a crash: what it held is gone. Resolves when it has ended. */
  kill(): Promise<void>;
  /** Connections stay open and nobody answers. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

const READY = /Ready to accept connections|Sentinel ID is/;

/**
 * An image runs in the network of this machine, with the folder for temporary files as its own. So Sentinels,
 * Clusters and replicas find each other as local servers do.
 * @param image e.g. `redis:7-alpine`; none: the `redis-server` of this machine
 */
export function startServer(args: readonly string[], image?: string): Promise<RedisServer> {
  return image === undefined ? startProcess(args) : startContainer(args, image);
}

async function startContainer(args: readonly string[], image: string): Promise<RedisServer> {
  const lines: string[] = [];
  const started = await new GenericContainer(image)
    .withNetworkMode('host')
    .withBindMounts([{ source: tmpdir(), target: tmpdir() }])
    .withUser(`${process.getuid?.() ?? 0}`)
    .withEntrypoint([image.includes('valkey') ? 'valkey-server' : 'redis-server'])
    .withCommand([...args])
    .withLogConsumer((stream) => stream.on('data', (line) => lines.push(String(line))))
    .withWaitStrategy(Wait.forLogMessage(READY))
    .start()
    .catch((error: unknown) => {
      throw new Error(`${image} does not start (${error}):\n${lines.join('')}`, { cause: error });
    });
  const { container } = await getContainerRuntimeClient();
  const server = container.getById(started.getId());
  return {
    async kill() {
      await server.remove({ force: true });
    },
    pause: () => server.pause(),
    // Like SIGCONT, it may come twice.
    async resume() {
      if ((await server.inspect()).State.Paused) await server.unpause();
    },
  };
}

async function startProcess(args: readonly string[]): Promise<RedisServer> {
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const fail = (reason: string) => () => reject(new Error(`redis-server ${reason}:\n${lines.join('\n')}`));
    server.once('error', (error) => fail(`does not start (${error.message})`)());
    server.once('exit', fail('ended at once'));
    createInterface({ input: server.stdout }).on('line', (line) => {
      lines.push(line);
      if (READY.test(line)) resolve();
    });
  });
  server.removeAllListeners('exit');
  endWithTestProcess(server);
  return {
    async kill() {
      if (server.exitCode !== null || server.signalCode !== null) return;
      const exited = once(server, 'exit');
      server.kill('SIGKILL');
      await exited;
    },
    pause: async () => void server.kill('SIGSTOP'),
    resume: async () => void server.kill('SIGCONT'),
  };
}

/**
 * A test process that is killed runs no clean-up: its end closes the watcher's standard input, and the
 * watcher ends the server.
 */
function endWithTestProcess(server: ChildProcess): void {
  const watcher = spawn('sh', ['-c', `read -r _; kill -9 ${server.pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  server.once('exit', () => watcher.kill('SIGKILL'));
}
