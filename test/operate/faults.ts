import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../../common/process/package-root.ts';
import { AUTHORIZED } from '../support/service/api.ts';
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

/** Two uploads that begin and never end. They leave 2 kB of ASR_UPLOAD_MEMORY_MB=1. */
export async function neverEnd({ origin }: Member, ended: Promise<unknown>): Promise<void> {
  const uploads = [1, 2].map(() => {
    const headers = {
      ...AUTHORIZED,
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': 499_000,
    };
    const upload = request(`${origin}/v1/audio/transcriptions`, { method: 'POST', headers });
    upload.on('error', () => undefined);
    upload.write('--b');
    return upload;
  });
  await ended.finally(() => {
    for (const upload of uploads) upload.destroy();
  });
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
