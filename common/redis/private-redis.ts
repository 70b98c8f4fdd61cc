import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../process/package-root.ts';

/** One for each `npm start` that runs, named by its process id. */
const NAME = /^private-redis-(\d+)$/;

/**
 * The private Redis of `npm start` has a new port and password at every start: `npm run status` finds it by a
 * file that this user alone can read.
 * @returns takes the file away again
 */
export function showPrivateRedis(url: string, folder = cacheFolder()): () => void {
  mkdirSync(folder, { recursive: true });
  const own = join(folder, `private-redis-${process.pid}`);
  for (const { file, isRunning } of listed(folder))
    if (!isRunning || file === own) rmSync(file, { force: true });
  writeFileSync(own, url, { mode: 0o600 });
  return () => rmSync(own, { force: true });
}

/** @returns the address of the private Redis of an `npm start` that runs in this folder; undefined when there is none */
export function privateRedisUrl(folder = cacheFolder()): string | undefined {
  const running = listed(folder).find(({ isRunning }) => isRunning);
  return running && readFileSync(running.file, 'utf8');
}

function cacheFolder(): string {
  return join(packageRoot(), '.cache');
}

/** The files of all private Redis servers. That of an `npm start` that was killed is still there. */
function listed(folder: string): { file: string; isRunning: boolean }[] {
  // A container has no such folder.
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    const pid = Number(NAME.exec(name)?.[1]);
    return Number.isNaN(pid) ? [] : [{ file: join(folder, name), isRunning: isAlive(pid) }];
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
