import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const LOOK_INTERVAL_MS = 1_000;

/** Names, sizes and times of a folder's files in one text; '' for a folder that is not there. The time is that of the last change of any kind, permissions among them. */
export async function folderFingerprint(folder: string): Promise<string> {
  const names = await readdir(folder).catch(() => []);
  const lines = names.sort().map(async (name) => {
    const file = await stat(join(folder, name)).catch(() => undefined);
    return file === undefined ? '' : `${name} ${file.size} ${file.ctimeMs} ${file.ino}`;
  });
  return (await Promise.all(lines)).join('\n');
}

/**
 * Waits until the folder's files are others than `before` and have stayed the same for one interval, so that a copy under way is over. Looks
 * once a second instead of subscribing to the file system, which tells nothing about network mounts and folders that are not there yet.
 * @throws AbortError when the signal ends the wait.
 */
export async function folderChange(
  folder: string,
  before: string,
  signal: AbortSignal,
  intervalMs: number = LOOK_INTERVAL_MS,
): Promise<void> {
  let last = before;
  for (;;) {
    await delay(intervalMs, undefined, { signal });
    const now = await folderFingerprint(folder);
    if (now !== before && now === last) return;
    last = now;
  }
}
