import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';

/**
 * Cleans up behind a supervisor that was killed and could not: a shell that does nothing until the pipe from the supervisor closes.
 * The servers notice by themselves that they are alone and finish; Redis has to outlive them, so it goes when they have, or 5 s later.
 */
interface OrphanWatch {
  /** Tells which processes run now. Redis may be somebody else's. */
  update(processes: { readonly redis: number | undefined; readonly servers: readonly number[] }): void;
  /** Removes the folder as well. */
  close(): Promise<void>;
}

/**
 * A line is `<pid of Redis, or 0> <pids of the servers>`; the last one counts. $1: the folder. Ours leads a process group, in which the real one may
 * be the child of a script.
 */
const SCRIPT = `
redis=0 servers=
while read -r first rest; do redis=$first servers=$rest; done
alive() { for pid in $servers; do kill -0 "$pid" && return 0; done; return 1; }
tries=0
while alive && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
for pid in $servers; do kill -KILL "$pid"; done
[ "$redis" -eq 0 ] || kill -KILL "-$redis" || kill -KILL "$redis"
rm -rf "$1"
`;

/** @param folder is removed at the end. */
export function startOrphanWatch(folder: string): OrphanWatch {
  const shell = spawn('sh', ['-c', SCRIPT, 'asr-orphan-watch', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const ended = once(shell, 'exit');
  shell.stdin.on('error', () => {});
  return {
    update: ({ redis, servers }) => void shell.stdin.write(`${redis ?? 0} ${servers.join(' ')}\n`),
    async close() {
      shell.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true }); // had somebody killed the shell
    },
  };
}
