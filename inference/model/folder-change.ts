import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const LOOK_INTERVAL_MS = 1_000;
/** Far more than a model has. Behind so many no further subfolder is looked into, so that a folder named by mistake is not read whole every second. */
const MANY_FILES = 1_000;

/**
 * Names, sizes and times of a folder's files in one text; '' for a folder that is not there. The time is that of the last change of any kind,
 * permissions among them. Subfolders belong to it, because a graph may keep its weights in one, save hidden ones such as `.git`.
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
