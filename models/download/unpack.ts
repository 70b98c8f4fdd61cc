import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Extract, extract } from 'tar-stream';
import unbzip2 from 'unbzip2-stream';
import { describeCause, isSystemError, ModelFailure } from '../failure.ts';
import type { ModelFamily } from '../family.ts';
import { surplusGraphs, wantedFile } from '../store/model-files.ts';
import type { ReceiptFile } from '../store/store.ts';

export interface UnpackOptions {
  /** Its hash was compared with the catalogue's: what is in it is trusted. */
  readonly archivePath: string;
  /** An empty folder that exists. */
  readonly folder: string;
  readonly family: ModelFamily;
  readonly onProgress?: (readBytes: number, archiveBytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Unpacks what the engine needs from a `.tar.bz2`, flat into `folder`. Nothing but plain files is ever made.
 * @throws ModelFailure when the archive is damaged or is not this model; an error of the disk; the abort reason when `signal` aborts.
 */
export async function unpackModel(options: UnpackOptions): Promise<readonly ReceiptFile[]> {
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
  const files = read.value;
  const names = files.map((file) => file.name);
  const surplus = surplusGraphs(names, options.family);
  for (const name of surplus) await rm(join(folder, name));
  return files.filter((file) => !surplus.includes(file.name));
}

async function readEntries(entries: Extract, folder: string): Promise<readonly ReceiptFile[]> {
  const files: ReceiptFile[] = [];
  for await (const entry of entries) {
    const name = entry.header.type === 'file' ? wantedFile(entry.header.name) : undefined;
    if (name === undefined) entry.resume();
    else files.push(await writeEntry(entry, name, folder));
  }
  return files;
}

async function writeEntry(entry: AsyncIterable<unknown>, name: string, folder: string): Promise<ReceiptFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(join(folder, name), 'wx', 0o644);
  try {
    for await (const chunk of entry) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError('an archive entry is read as bytes');
      hash.update(chunk);
      bytes += chunk.byteLength;
      await file.writeFile(chunk);
    }
    // Before the rename that makes the model appear.
    await file.sync();
  } finally {
    await file.close();
  }
  return { name, bytes, sha256: hash.digest('hex') };
}
