import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { packageRoot } from '../common/package-root.ts';
import type { CatalogueEntry } from './catalogue.ts';
import { describeCause, ModelFailure } from './failure.ts';

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
    archive: `${base}.tar.bz2`,
    part: `${base}.tar.bz2.part`,
    partInfo: `${base}.tar.bz2.part.json`,
    unpacking: `${base}.unpacking`,
    discarded: `${base}.discarded`,
  } as const;
}

export type StorePaths = ReturnType<typeof storePaths>;

/** How much of a model's archive is here, in part or whole; 0 when none is. */
export async function downloadedBytes(folders: ModelFolders, id: string): Promise<number> {
  const { part, archive } = storePaths(folders, id);
  const sizes = await Promise.all(
    [part, archive].map((path) =>
      stat(path).then(
        (found) => found.size,
        () => 0,
      ),
    ),
  );
  return Math.max(...sizes);
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
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new ModelFailure(`cannot read ${path}: ${describeCause(error)}`, { cause: error });
  }
  const receipt = parseReceipt(text);
  if (receipt === undefined) {
    throw new ModelFailure(
      `${path} is damaged: \`npm run models -- remove ${id}\`, then \`npm run models -- pull ${id}\``,
    );
  }
  return receipt;
}

function parseReceipt(text: string): DownloadReceipt | undefined {
  const { id, url, archiveSha256, pulledAt, files } = parseRecord(text);
  if (typeof id !== 'string' || typeof url !== 'string' || typeof archiveSha256 !== 'string')
    return undefined;
  if (typeof pulledAt !== 'string' || !Array.isArray(files) || !files.every(isReceiptFile)) return undefined;
  return { id, url, archiveSha256, pulledAt, files };
}

function isReceiptFile(value: unknown): value is ReceiptFile {
  if (typeof value !== 'object' || value === null) return false;
  const { name, bytes, sha256 }: Record<string, unknown> = { ...value };
  return typeof name === 'string' && typeof bytes === 'number' && typeof sha256 === 'string';
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
    const found = await stat(path).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
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
  const paths = storePaths(folders, id);
  await rm(paths.discarded, { recursive: true, force: true });
  // Away in one step: a process that looks meanwhile sees the whole model or none.
  await rename(paths.model, paths.discarded).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  let found = false;
  for (const path of [paths.discarded, paths.unpacking, paths.archive, paths.part, paths.partInfo]) {
    try {
      await rm(path, { recursive: true });
      found = true;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return found;
}

/** @returns lower-case hexadecimal sha256 of a file. */
export async function hashFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { signal });
  return hash.digest('hex');
}

/** The beginning of an error about an archive that is not the catalogue's. */
export function describeMismatch(
  where: string,
  bytes: number,
  sha256: string,
  expected: CatalogueEntry,
): string {
  return `${where}: ${bytes} bytes with sha256 ${sha256}, expected ${expected.archiveBytes} bytes with ${expected.archiveSha256}`;
}

export function notDownloaded(id: string): ModelFailure {
  return new ModelFailure(`the model ${id} is not downloaded: run \`npm run models -- pull ${id}\``);
}

/** The fields of a JSON object that a process of ours wrote, perhaps not to its end: none when it is not one. */
export function parseRecord(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
