import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../common/process/package-root.ts';

/** Keeps what a run of `npm run chaos` or `soak` found. @returns the file's path below the project's folder */
export async function keepResult(tool: 'chaos' | 'soak', name: string, content: string): Promise<string> {
  const folder = join('test', tool, 'results');
  await mkdir(join(packageRoot(), folder), { recursive: true });
  await writeFile(join(packageRoot(), folder, name), content);
  return join(folder, name);
}
