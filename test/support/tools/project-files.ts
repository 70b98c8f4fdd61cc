import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../common/process/package-root.ts';

/** What git leaves out is made by a run, so a page may name it although a clone lacks it. */
const IGNORED = read('.gitignore')
  .split('\n')
  .filter((line) => line.endsWith('/'))
  .map((line) => line.replace(/^\//, ''));

export const isIgnored = (path: string): boolean =>
  path === '.git' ||
  IGNORED.some((folder) => `${path}/`.startsWith(folder) || path.split('/').includes(folder.slice(0, -1)));

/** @param path relative to the project's root */
export function read(path: string): string {
  return readFileSync(join(packageRoot(), path), 'utf8');
}

/** Files and folders below a folder of the project, without those that git leaves out. @returns paths from its root */
export function pathsIn(folder: string): string[] {
  return readdirSync(join(packageRoot(), folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (isIgnored(path)) return [];
    return entry.isDirectory() ? [path, ...pathsIn(path)] : [path];
  });
}
