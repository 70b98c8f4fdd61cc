import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Ending, Run } from './child-process.ts';
import { freePort } from './ports.ts';

/**
 * A redis-server of our own. It never writes anything to a disk, and only those who know its password get in.
 */
export interface EmbeddedRedis extends Run {
  readonly url: string;
  readonly address: RedisAddress;
}

/** What a server must have in common with the one that it replaces, so that clients find it again. */
interface RedisAddress {
  readonly port: number;
  readonly password: string;
}

const START_MS = 10_000;
const SHOWN_LINES = 5;

/**
 * @param address default: a free port and a new password
 * @throws Error with the server's own last lines when it does not start
 */
export async function startRedis(address?: RedisAddress): Promise<EmbeddedRedis> {
  const { port, password } = address ?? { port: await freePort(), password: randomBytes(24).toString('hex') };
  // Its own process group: Ctrl-C on the terminal is for the supervisor, which ends Redis last.
  const server = spawn('redis-server', ['-'], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const lines: string[] = [];
  const ended = new Promise<Ending>((resolve) => {
    const end = (how: string): void => resolve({ how, final: false });
    server.once('error', (error) => end(`it cannot be run: ${error.message}`));
    // Not 'exit': its last lines may come behind that.
    server.once('close', (code, signal) => end(signal ?? `exit code ${code}`));
  });
  const ready = new Promise<true>((resolve) => {
    const keep = (line: string): void => {
      lines.push(line);
      if (lines.length > SHOWN_LINES) lines.shift();
      if (line.includes('Ready to accept connections')) resolve(true);
    };
    createInterface({ input: server.stdout }).on('line', keep);
    createInterface({ input: server.stderr }).on('line', keep);
  });
  // By standard input: a password among the arguments could be read by every user of the machine.
  server.stdin.on('error', () => {});
  server.stdin.end(configuration(port, password));

  const tooLate = AbortSignal.timeout(START_MS);
  const outcome = await Promise.race([
    ready,
    ended.then(({ how }) => how),
    once(tooLate, 'abort').then(() => `not ready within ${START_MS} ms`),
  ]);
  // There is nothing that it would have to write first.
  const kill = (): void => void server.kill('SIGKILL');
  if (outcome !== true || server.pid === undefined) {
    kill();
    throw new Error(`redis-server does not start (${outcome})\n${lines.join('\n')}`.trimEnd());
  }
  const url = `redis://:${password}@127.0.0.1:${port}`;
  return { url, pid: server.pid, address: { port, password }, ended, finish: kill, kill };
}

function configuration(port: number, password: string): string {
  // Redis neither writes nor loads a dump. The name is random, because a dump of that name in this folder
  // would be loaded. One session's audio and results are about 1 MB. noeviction, because a store that forgets
  // the slot would be worse than one that refuses.
  return `bind 127.0.0.1
port ${port}
requirepass ${password}
save ""
appendonly no
dbfilename none-${randomBytes(8).toString('hex')}
maxmemory 256mb
maxmemory-policy noeviction
daemonize no
`;
}
