import { lstat, mkdir, rename, rm, statfs } from 'node:fs/promises';
import { archiveUrl, fetchArchive, type PullOptions } from './archive.ts';
import { type ArchiveSource, verifyCarried } from './carried.ts';
import { archiveName } from './catalogue.ts';
import { DownloadFailure, fromDiskError, ModelFailure } from './failure.ts';
import { acquireLock } from './lock.ts';
import { formatBytes, Progress } from './report.ts';
import {
  downloadedBytes,
  isMissing,
  readReceipt,
  type StorePaths,
  storePaths,
  writeReceipt,
} from './store.ts';
import { unpackModel } from './unpack.ts';

/** How much an archive may grow when it is unpacked; the known ones grow to 2.2 times their size (Whisper tiny). */
const MAX_GROWTH = 4;
/** Estimate for the check of free space: what comes out of an archive, surplus graphs included. */
const UNPACKED_PER_ARCHIVE_BYTE = 2.3;

/**
 * Makes a catalogue model usable: download (going on where an earlier one stopped) unless the archive was carried here, sha256, unpack, one
 * rename. At every moment the model is whole or not there; what a broken pull leaves is used or cleaned away by the next.
 * @returns whether there was anything to do.
 * @throws ModelFailure; the abort reason when `signal` aborts.
 */
export async function pullModel(options: PullOptions): Promise<'pulled' | 'already there'> {
  const { entry, from, folders } = options;
  const paths = storePaths(folders, entry.id);
  if (await isCurrent(options)) {
    await clearLeft(paths);
    return 'already there';
  }
  const archive: ArchiveSource =
    from === undefined
      ? { path: paths.archive, url: archiveUrl(entry, options.network.mirror) }
      : await verifyCarried(entry, from, options.signal);
  try {
    // Not `recursive`: Node would say of a read-only disk that the folder is not there.
    await mkdir(folders.downloaded);
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (!isThere) throw fromDiskError(error, folders.downloaded);
  }
  const lock = await acquireLock(paths.lock).catch((error: unknown) => {
    throw fromDiskError(error, paths.lock);
  });
  const signal = AbortSignal.any([options.signal, lock.lost]);
  try {
    // Another process may have finished between the first look and the lock.
    if (await isCurrent(options)) return 'already there';
    await rm(paths.unpacking, { recursive: true, force: true });
    await rm(paths.discarded, { recursive: true, force: true });
    await checkFreeSpace(options);
    if (from === undefined) await download(options, archive.url, signal);
    await install(options, archive, signal);
    return 'pulled';
  } catch (error) {
    throw lock.lost.aborted ? lock.lost.reason : error;
  } finally {
    await lock.release();
  }
}

async function isCurrent({ entry, folders }: PullOptions): Promise<boolean> {
  return (await readReceipt(folders, entry.id))?.archiveSha256 === entry.archiveSha256;
}

/**
 * Deletes what a pull left that was killed behind its last rename: the archive, and the model before it. Nobody needs them for the model that is
 * there, so whatever keeps them from being deleted, such as another pull that is just doing so, is no failure.
 */
async function clearLeft({ lock: lockPath, archive, discarded }: StorePaths): Promise<void> {
  const found = await Promise.allSettled([archive, discarded].map((path) => lstat(path)));
  if (found.every(({ status }) => status === 'rejected')) return;
  const lock = await acquireLock(lockPath).catch(() => undefined);
  if (lock === undefined) return;
  await Promise.allSettled([archive, discarded].map((path) => rm(path, { recursive: true, force: true })));
  await lock.release();
}

/** @throws ModelFailure that says how to go without a download, where that is what failed. */
async function download(options: PullOptions, url: string, signal: AbortSignal): Promise<void> {
  const { entry } = options;
  try {
    await fetchArchive(options, url, signal);
  } catch (error) {
    if (!(error instanceof DownloadFailure)) throw error;
    throw new ModelFailure(
      `${error.message}; on a machine without internet, carry this file here and run: npm run models -- pull ${entry.id} --from ${archiveName(entry)}`,
      { cause: error },
    );
  }
}

async function checkFreeSpace({ entry, from, folders }: PullOptions): Promise<void> {
  const missingBytes =
    from === undefined ? entry.archiveBytes - (await downloadedBytes(folders, entry.id)) : 0;
  const neededBytes = missingBytes + entry.archiveBytes * UNPACKED_PER_ARCHIVE_BYTE;
  const disk = await statfs(folders.downloaded);
  const freeBytes = disk.bavail * disk.bsize;
  if (freeBytes < neededBytes) {
    throw new ModelFailure(
      `${folders.downloaded} has ${formatBytes(freeBytes)} free, ${entry.id} needs about ${formatBytes(neededBytes)} while it is unpacked: free some space`,
    );
  }
}

async function install(options: PullOptions, archive: ArchiveSource, signal: AbortSignal): Promise<void> {
  const { entry, folders, output } = options;
  const paths = storePaths(folders, entry.id);
  const progress = new Progress(`${entry.id}, unpacking`, output);
  try {
    await mkdir(paths.unpacking);
    const files = await unpackModel({
      archivePath: archive.path,
      folder: paths.unpacking,
      family: entry.family,
      maxBytes: entry.archiveBytes * MAX_GROWTH,
      onProgress: (read, total) => progress.update(read, total),
      signal,
    });
    await writeReceipt(paths.unpacking, {
      id: entry.id,
      url: archive.url,
      archiveSha256: entry.archiveSha256,
      pulledAt: new Date().toISOString(),
      files,
    });
    signal.throwIfAborted();
    await rename(paths.model, paths.discarded).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    await rename(paths.unpacking, paths.model);
  } catch (error) {
    await rm(paths.unpacking, { recursive: true, force: true });
    throw fromDiskError(error, paths.unpacking);
  } finally {
    progress.end();
  }
  // The parts are of an earlier download, where the archive was carried here.
  for (const left of [paths.archive, paths.part, paths.partInfo]) await rm(left, { force: true });
  await rm(paths.discarded, { recursive: true, force: true });
}
