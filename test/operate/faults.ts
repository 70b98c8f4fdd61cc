import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../../common/process/package-root.ts';
import type { Member } from './monitored-service.ts';

/** Does it again and again, whatever comes of it, until `ended` is settled. */
export async function during(
  ended: Promise<unknown>,
  act: () => Promise<unknown>,
  pauseMs = 100,
): Promise<void> {
  let isOver = false;
  const over = ended.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  while (!isOver) {
    await act().catch(() => undefined);
    await sleep(pauseMs);
  }
  await over;
}

/** The process stands still for a while, again and again. */
export async function stutter(
  ended: Promise<unknown>,
  { process }: Member,
  stillMs: number,
  goingMs: number,
): Promise<void> {
  const standStill = async (): Promise<void> => {
    process.kill('SIGSTOP');
    await sleep(stillMs);
    process.kill('SIGCONT');
  };
  await during(ended, standStill, goingMs);
}

/** Puts the same program under another version into a folder. @returns the API's script in it, seen from `dist/` */
export function otherVersion(folder: string): string {
  const root = packageRoot();
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  writeFileSync(join(folder, 'package.json'), manifest.replace(/(?<="version": ")[^"]+/, '0.0.1'));
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  for (const name of ['node_modules', 'common', 'page', 'api', 'models'])
    symlinkSync(join(root, name), join(folder, name));
  return relative(join(root, 'dist'), join(folder, 'dist', 'api', 'main.js'));
}
