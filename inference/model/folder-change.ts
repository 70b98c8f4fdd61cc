import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_INTERVAL_MS = 1_000;
/**
 * Far more than a model has. After so many, no further subfolder is read: a folder named by mistake must not
 * be read whole every second.
 */
const MANY_FILES = 1_000;

/**
 * Names, sizes, times and inode numbers of a folder's files in one text; '' for a folder that is not there.
 * The time is that of the last change of any kind, permissions included. Subfolders are read too, because a
 * graph may keep its weights in one. Hidden ones such as `.git` are not.
 */
export async function folderFingerprint(folder: string): Promise<string> {
  const lines: string[] = [];
  const folders = [folder];
  // Grows on the way, level by level: all that lies in the folder itself comes first.
  for (const each of folders) {
    if (lines.length > MANY_FILES) break;
    const names = await readdir(each).catch(() => []);
    const paths = names.sort().map((name) => join(each, name));
    const found = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
    for (const [index, path] of paths.entries()) {
      const file = found[index];
      if (file === undefined) continue;
      lines.push(`${path} ${file.size} ${file.ctimeMs} ${file.ino}`);
      if (file.isDirectory() && !names[index]?.startsWith('.')) folders.push(path);
    }
  }
  return lines.join('\n');
}

/**
 * Waits until the folder's files differ from `before` and have stayed the same for one interval: then a copy
 * under way is over. It polls once a second. Events of the file system would tell nothing about network
 * mounts, nor about folders that are not there yet.
 * @throws AbortError when the signal ends the wait.
 */
export async function folderChange(
  folder: string,
  before: string,
  signal: AbortSignal,
  intervalMs: number = POLL_INTERVAL_MS,
): Promise<void> {
  let last = before;
  for (;;) {
    await delay(intervalMs, undefined, { signal });
    const now = await folderFingerprint(folder);
    if (now !== before && now === last) return;
    last = now;
  }
}
