import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort } from './ports.ts';

/** A redis-server of our own: nothing of it is ever written to a disk, and only who knows its password gets in. */
export interface EmbeddedRedis {
  readonly url: string;
  readonly pid: number;
  readonly address: RedisAddress;
  /** Settles when the server has ended, also by itself, and says how. */
  readonly ended: Promise<string>;
  /** Ends it, as `ended` tells then; there is nothing that it would have to write first. */
  readonly stop: () => void;
}

/** What a server must have in common with the one that it replaces, so that clients find it again. */
interface RedisAddress {
  readonly port: number;
  readonly password: string;
}

interface EmbeddedRedisOptions {
  /** Its working folder, in which it has no reason to write. */
  readonly folder: string;
  /** Default: a free port and a new password. */
  readonly address?: RedisAddress;
  /** Told at once which process it is, long before it is ready, and undefined when it does not get ready. */
  readonly onPid?: (pid: number | undefined) => void;
}

const START_MS = 10_000;
const PORTS_TO_TRY = 5;
const SHOWN_LINES = 5;

/** @throws Error with the server's own last lines when it does not start. */
export async function startRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  if (options.address !== undefined) return startAt(options, options.address);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const address = { port: await freePort(), password: randomBytes(24).toString('hex') };
      return await startAt(options, address);
    } catch (error) {
      // Another process can take the port between the question and the start.
      const portTaken = error instanceof Error && error.message.includes('Address already in use');
      if (!portTaken || attempt === PORTS_TO_TRY) throw error;
    }
  }
}

async function startAt(options: EmbeddedRedisOptions, address: RedisAddress): Promise<EmbeddedRedis> {
  // Its own process group: Ctrl-C on the terminal is for the supervisor, which ends Redis last.
  // The shell, which becomes Redis, waits for a line: killed before `onPid` has told of it, the supervisor would leave a Redis that nobody ends.
  const server = spawn('sh', ['-c', 'read -r _ && exec redis-server -'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  options.onPid?.(server.pid);
  const lines: string[] = [];
  const ended = new Promise<string>((resolve) => {
    server.once('error', (error) => resolve(`it cannot be run: ${error.message}`));
    server.once('exit', (code, signal) => {
      killGroup(server); // a Redis whose wrapper was killed would keep the port from the next one
      resolve(signal ?? `exit code ${code}`);
    });
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
  server.stdin.end(`\n${configuration(options.folder, address)}`);

  const tooLate = AbortSignal.timeout(START_MS);
  const outcome = await Promise.race([
    ready,
    ended,
    once(tooLate, 'abort').then(() => `not ready within ${START_MS} ms`),
  ]);
  if (outcome !== true || server.pid === undefined) {
    killGroup(server);
    options.onPid?.(undefined);
    throw new Error(`redis-server does not start (${outcome})\n${lines.join('\n')}`.trimEnd());
  }
  return {
    url: `redis://:${address.password}@127.0.0.1:${address.port}`,
    pid: server.pid,
    address,
    ended,
    stop: () => killGroup(server),
  };
}

/** What is called redis-server on PATH may be a script that has started the real one. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // None of it is left.
  }
}

function configuration(folder: string, { port, password }: RedisAddress): string {
  // One session's audio and results are about 1 MB; noeviction, because a store that forgets the slot would be worse than one that refuses.
  return `bind 127.0.0.1
port ${port}
requirepass ${password}
save ""
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
daemonize no
dir ${inQuotes(folder)}
`;
}

/** As Redis reads a quoted word of its configuration: a line break as it is would end the line, and begin a directive of its own. */
function inQuotes(word: string): string {
  const escaped = word.replace(/["\\]/g, '\\$&').replace(/\p{Cc}/gu, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return `"${escaped}"`;
}
