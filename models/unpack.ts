import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Extract, extract, type Header } from 'tar-stream';
import unbzip2 from 'unbzip2-stream';
import { describeCause, fromDiskError, ModelFailure } from './failure.ts';
import type { ModelFamily } from './family.ts';
import { surplusGraphs, wantedFile } from './model-files.ts';
import type { ReceiptFile } from './store.ts';

export interface UnpackOptions {
  readonly archivePath: string;
  /** An empty folder that exists. */
  readonly folder: string;
  readonly family: ModelFamily;
  /** The most that all of the archive's files may have together, needed or not. */
  readonly maxBytes: number;
  readonly onProgress?: (readBytes: number, archiveBytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Unpacks what the engine needs from a `.tar.bz2`, flat into `folder`. Nothing but plain files is ever made.
 * @throws ModelFailure when the archive is damaged, is not this model, or has a link, a path that leads out, or too much in it.
 */
export async function unpackModel(options: UnpackOptions): Promise<readonly ReceiptFile[]> {
  const archiveBytes = (await stat(options.archivePath)).size;
  const archive = createReadStream(options.archivePath);
  archive.on('data', () => options.onProgress?.(archive.bytesRead, archiveBytes));
  const entries = extract();
  const feeding = pipeline(archive, unbzip2(), entries, { signal: options.signal });
  const [fed, read] = await Promise.allSettled([feeding, readEntries(entries, options)]);
  options.signal.throwIfAborted();
  // What the reader refused is the cause; the feeding side then only says that nobody listens any more.
  if (read.status === 'rejected' && isOwnWord(read.reason)) throw fromDiskError(read.reason, options.folder);
  const fault: unknown =
    fed.status === 'rejected' ? fed.reason : read.status === 'rejected' ? read.reason : undefined;
  if (fault !== undefined) {
    throw new ModelFailure(`${options.archivePath} cannot be unpacked: ${describeCause(fault)}`, {
      cause: fault,
    });
  }
  const files = read.status === 'fulfilled' ? read.value : [];
  const surplus = surplusGraphs(
    files.map((file) => file.name),
    options.family,
  );
  for (const name of surplus) await rm(join(options.folder, name));
  return files.filter((file) => !surplus.includes(file.name));
}

/** Our own refusal or the disk's (both carry the reason), unlike an error that came down the stream. */
function isOwnWord(error: unknown): boolean {
  return error instanceof ModelFailure || (error instanceof Error && 'syscall' in error);
}

async function readEntries(entries: Extract, options: UnpackOptions): Promise<readonly ReceiptFile[]> {
  const files: ReceiptFile[] = [];
  let totalBytes = 0;
  for await (const entry of entries) {
    const { header } = entry;
    totalBytes += header.size;
    if (totalBytes > options.maxBytes) {
      throw new ModelFailure(
        `the archive is not used: it unpacks to more than ${options.maxBytes} bytes (at ${JSON.stringify(header.name)})`,
      );
    }
    const name = wantedFile(header.name);
    refuseSpecial(header);
    if (name === undefined || header.type === 'directory') {
      entry.resume();
      continue;
    }
    if (files.some((file) => file.name === name))
      throw new ModelFailure(`the archive is not used: it has ${name} twice`);
    files.push(await writeEntry(entry, name, options.folder));
  }
  return files;
}

function refuseSpecial(header: Header): void {
  switch (header.type) {
    case 'file':
    case 'contiguous-file':
    case 'directory':
      return;
    default:
      throw new ModelFailure(
        `the archive is not used: ${JSON.stringify(header.name)} is a ${header.type}, not a file`,
      );
  }
}

async function writeEntry(entry: AsyncIterable<unknown>, name: string, folder: string): Promise<ReceiptFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  // Exclusive: an existing name, a planted link among them, is never written through.
  const file = await open(join(folder, name), 'wx', 0o644);
  try {
    for await (const chunk of entry) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError('an archive entry is read as bytes');
      hash.update(chunk);
      bytes += chunk.byteLength;
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { name, bytes, sha256: hash.digest('hex') };
}
