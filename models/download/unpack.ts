import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Extract, extract } from 'tar-stream';
import unbzip2 from 'unbzip2-stream';
import { describeCause, isSystemError, ModelFailure } from '../failure.ts';
import { surplusGraphs, wantedFile } from '../store/model-files.ts';

export interface UnpackOptions {
  /** Its hash was compared with the catalogue's: what is in it is trusted. */
  readonly archivePath: string;
  /** An empty folder that exists. */
  readonly folder: string;
  readonly family: string;
  readonly onProgress?: (readBytes: number, archiveBytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Unpacks what the engine needs from a `.tar.bz2`, flat into `folder`. Nothing but plain files is ever made.
 * @throws ModelFailure when the archive is damaged or is not this model; an error of the disk; the abort
 * reason when `signal` aborts.
 */
export async function unpackModel(options: UnpackOptions): Promise<void> {
  const { archivePath, folder, signal } = options;
  const archiveBytes = (await stat(archivePath)).size;
  const archive = createReadStream(archivePath);
  archive.on('data', () => options.onProgress?.(archive.bytesRead, archiveBytes));
  const entries = extract();
  const [read, fed] = await Promise.allSettled([
    readEntries(entries, folder),
    pipeline(archive, unbzip2(), entries, { signal }),
  ]);
  signal.throwIfAborted();
  // The reader's error of the disk comes first: the feeding side then only says that nobody listens any more.
  if (read.status === 'rejected' && isSystemError(read.reason)) throw read.reason;
  const fault: unknown =
    fed.status === 'rejected' ? fed.reason : read.status === 'rejected' ? read.reason : undefined;
  if (fault !== undefined || read.status === 'rejected') {
    throw new ModelFailure(`${archivePath} cannot be unpacked: ${describeCause(fault)}`, { cause: fault });
  }
  for (const name of surplusGraphs(read.value, options.family)) await rm(join(folder, name));
}

/** @returns the names of the files that were written */
async function readEntries(entries: Extract, folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const entry of entries) {
    const name = entry.header.type === 'file' ? wantedFile(entry.header.name) : undefined;
    if (name === undefined) {
      entry.resume();
      continue;
    }
    // Flushed before the rename that makes the model appear.
    await pipeline(entry, createWriteStream(join(folder, name), { flags: 'wx', flush: true }));
    names.push(name);
  }
  return names;
}
