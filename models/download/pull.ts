import { mkdir, rename, rm } from 'node:fs/promises';
import type { CatalogueEntry } from '../catalogue.ts';
import { acquireLock } from '../store/lock.ts';
import { deleteModel, type ModelFolders, readReceipt, storePaths, writeReceipt } from '../store/store.ts';
import {
  type ArchiveSource,
  archiveUrl,
  fetchArchive,
  type NetworkSettings,
  verifyCarried,
} from './archive.ts';
import { Progress, type Screen } from './report.ts';
import { unpackModel } from './unpack.ts';

export interface PullOptions {
  readonly entry: CatalogueEntry;
  /**
   * The archive, or a folder that has it, where it was carried to this machine: nothing is downloaded then.
   */
  readonly from: string | undefined;
  readonly folders: ModelFolders;
  readonly network: NetworkSettings;
  readonly screen: Screen;
  readonly signal: AbortSignal;
}

/**
 * Makes a catalogue model usable: download, sha256, unpack, one rename. The download goes on where an earlier
 * one stopped. There is none if the archive was carried here. At every moment the model is whole or not
 * there. What a broken pull leaves is used or cleaned away by the next.
 * @returns whether there was anything to do.
 * @throws ModelFailure; an error of the disk; the abort reason when `signal` aborts.
 */
export async function pullModel(options: PullOptions): Promise<'pulled' | 'already there'> {
  const { entry, from, folders, network, screen, signal } = options;
  const receipt = await readReceipt(folders, entry.id);
  if (receipt?.archiveSha256 === entry.archiveSha256) return 'already there';
  const { part, lock } = storePaths(folders, entry.id);
  const archive =
    from === undefined
      ? { path: part, url: archiveUrl(entry, network.env['ASR_MODEL_MIRROR']) }
      : await verifyCarried(entry, from, signal);
  await mkdir(folders.downloaded, { recursive: true });
  const release = await acquireLock(lock);
  try {
    if (from === undefined) await fetchArchive(entry, archive, network, screen, signal);
    await install(options, archive);
    return 'pulled';
  } finally {
    release();
  }
}

async function install({ entry, folders, screen, signal }: PullOptions, archive: ArchiveSource) {
  const { model, unpacking, part } = storePaths(folders, entry.id);
  const progress = new Progress(`${entry.id}, unpacking`, screen);
  // Left by a pull that was killed.
  await rm(unpacking, { recursive: true, force: true });
  try {
    await mkdir(unpacking);
    await unpackModel({
      archivePath: archive.path,
      folder: unpacking,
      family: entry.family,
      onProgress: (read, total) => progress.update(read, total),
      signal,
    });
    await writeReceipt(unpacking, {
      url: archive.url,
      archiveSha256: entry.archiveSha256,
      pulledAt: new Date().toISOString(),
    });
    await deleteModel(folders, entry.id);
    await rename(unpacking, model);
  } finally {
    progress.end();
    await rm(unpacking, { recursive: true, force: true });
  }
  // If the archive was carried here, the part is of an earlier download.
  await rm(part, { force: true });
}
