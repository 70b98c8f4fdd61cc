import { createHash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { packageRoot } from '../../common/process/package-root.ts';
import type { CatalogueEntry } from '../catalogue.ts';
import { ModelFailure } from '../failure.ts';

/** Where models lie. `downloaded/<id>/` holds a model whole or is not there at all: it appears by one rename. */
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
    discarded: `${base}.discarded`,
  } as const;
}

/** `download.json` in a downloaded model's folder: what came from where, so that `verify` needs no network. */
export interface DownloadReceipt {
  readonly id: string;
  readonly url: string;
  readonly archiveSha256: string;
  readonly pulledAt: string;
  readonly files: readonly ReceiptFile[];
}

export interface ReceiptFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
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

/**
 * Reads every file of a downloaded model again.
 * @returns one line for each file that is missing or differs; empty when all is well.
 * @throws ModelFailure when the model is not downloaded.
 */
export async function verifyModel(
  folders: ModelFolders,
  entry: CatalogueEntry,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const receipt = await readReceipt(folders, entry.id);
  if (receipt === undefined) throw notDownloaded(entry.id);
  const problems: string[] = [];
  if (receipt.archiveSha256 !== entry.archiveSha256) {
    problems.push(
      `it came from an archive with sha256 ${receipt.archiveSha256}, the catalogue now has ${entry.archiveSha256}`,
    );
  }
  for (const file of receipt.files) {
    const path = join(storePaths(folders, entry.id).model, file.name);
    const found = await statIfThere(path);
    if (found === undefined) problems.push(`${file.name} is missing`);
    else if (found.size !== file.bytes)
      problems.push(`${file.name} has ${found.size} bytes, expected ${file.bytes}`);
    else {
      const sha256 = await hashFile(path, signal);
      if (sha256 !== file.sha256) problems.push(`${file.name} has sha256 ${sha256}, expected ${file.sha256}`);
    }
  }
  return problems;
}

/** Deletes a model and what unfinished pulls left of it; the caller holds its lock. @returns false when nothing was there. */
export async function removeModel(folders: ModelFolders, id: string): Promise<boolean> {
  const { model, discarded, unpacking, part } = storePaths(folders, id);
  const found = await Promise.all([model, discarded, unpacking, part].map(statIfThere));
  await discardModel(folders, id);
  for (const path of [discarded, unpacking, part]) await rm(path, { recursive: true, force: true });
  return found.some((one) => one !== undefined);
}

/** Takes a model away in one step, if it is there: a process that looks meanwhile sees the whole model or none. */
export async function discardModel(folders: ModelFolders, id: string): Promise<void> {
  const { model, discarded } = storePaths(folders, id);
  await rm(discarded, { recursive: true, force: true });
  if ((await statIfThere(model)) !== undefined) await rename(model, discarded);
}

/** @returns lower-case hexadecimal sha256 of a file. */
export async function hashFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { signal });
  return hash.digest('hex');
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

/** @returns bytes; 0 when nothing is there. */
export async function sizeOf(path: string): Promise<number> {
  return (await statIfThere(path))?.size ?? 0;
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
