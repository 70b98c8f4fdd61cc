import type { Stats } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../common/process/package-root.ts';
import { ModelFailure } from '../failure.ts';

/**
 * Where models lie. A model is in `downloaded/<id>/` when its receipt is there: both come by one rename, and
 * the receipt goes first.
 */
export interface ModelFolders {
  readonly bundled: string;
  readonly downloaded: string;
}

export function modelFolders(root: string = packageRoot()): ModelFolders {
  return { bundled: join(root, 'models', 'bundled'), downloaded: join(root, 'models', 'downloaded') };
}

/** Where one model lies, and everything that `pull` may leave beside it. */
export function storePaths(folders: ModelFolders, id: string) {
  const base = join(folders.downloaded, id);
  return {
    model: base,
    receipt: join(base, 'download.json'),
    lock: `${base}.lock`,
    part: `${base}.tar.bz2.part`,
    unpacking: `${base}.unpacking`,
  } as const;
}

/** `download.json` in a downloaded model's folder: what came from where. */
export interface DownloadReceipt {
  readonly url: string;
  readonly archiveSha256: string;
  readonly pulledAt: string;
}

/** @returns undefined when the model is not downloaded. */
export async function readReceipt(folders: ModelFolders, id: string): Promise<DownloadReceipt | undefined> {
  const path = storePaths(folders, id).receipt;
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new ModelFailure(
      `${path} is damaged: \`npm run models -- remove ${id}\`, then \`npm run models -- pull ${id}\``,
    );
  }
}

export async function writeReceipt(folder: string, receipt: DownloadReceipt): Promise<void> {
  await writeFile(join(folder, 'download.json'), `${JSON.stringify(receipt, null, 2)}\n`);
}

/** Deletes a model; what unfinished pulls have left stays. Its lock is the caller's. */
export async function deleteModel(folders: ModelFolders, id: string): Promise<void> {
  const { model, receipt } = storePaths(folders, id);
  // First, so that a deletion that is broken off leaves no model that looks whole.
  await rm(receipt, { force: true });
  await rm(model, { recursive: true, force: true });
}

/**
 * Deletes a model and what unfinished pulls left of it. Its lock is the caller's.
 * @returns false when nothing was there.
 */
export async function removeModel(folders: ModelFolders, id: string): Promise<boolean> {
  const { model, unpacking, part } = storePaths(folders, id);
  const found = await Promise.all([model, unpacking, part].map(isThere));
  await deleteModel(folders, id);
  for (const path of [unpacking, part]) await rm(path, { recursive: true, force: true });
  return found.includes(true);
}

export function notDownloaded(id: string): ModelFailure {
  return new ModelFailure(`the model ${id} is not downloaded: run \`npm run models -- pull ${id}\``);
}

/** @returns undefined when nothing is there. */
export async function statIfThere(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
}

export async function isThere(path: string): Promise<boolean> {
  return (await statIfThere(path)) !== undefined;
}

/** @returns bytes; 0 when nothing is there. */
export async function sizeOf(path: string): Promise<number> {
  return (await statIfThere(path))?.size ?? 0;
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
