import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { archiveName, type CatalogueEntry, RELEASE_URL } from './catalogue.ts';
import { fromDiskError, ModelFailure } from './failure.ts';
import { describeMismatch, hashFile, isMissing } from './store.ts';

/** What a model is unpacked from. */
export interface ArchiveSource {
  readonly path: string;
  /** Where it came from: `file:` for one that was carried here. */
  readonly url: string;
}

/**
 * Verifies an archive that was carried to this machine. It is read where it lies and left as it is.
 * @param from the archive, under any name, or a folder that has it under its own; relative to the working directory.
 * @throws ModelFailure when it is not there or is not the catalogue's; the abort reason when `signal` aborts.
 */
export async function verifyCarried(
  entry: CatalogueEntry,
  from: string,
  signal: AbortSignal,
): Promise<ArchiveSource> {
  const name = archiveName(entry);
  const given = resolve(from);
  try {
    const found = await statIfThere(given);
    if (found === undefined) {
      throw new ModelFailure(
        `there is no ${given}: give --from the path of ${name}, or of the folder that has it`,
      );
    }
    const path = found.isDirectory() ? join(given, name) : given;
    const archive = await statIfThere(path);
    if (archive === undefined) {
      throw new ModelFailure(
        `the folder ${given} does not have ${name}: carry ${RELEASE_URL}/${name} there. A folder with an unpacked model needs no pull: ASR_MODEL=${given} npm start`,
      );
    }
    const sha256 = await hashFile(path, signal);
    if (sha256 === entry.archiveSha256) return { path, url: pathToFileURL(path).href };
    throw new ModelFailure(
      `${describeMismatch(path, archive.size, sha256, entry)}. It is another file, or was damaged on its way: carry ${RELEASE_URL}/${name} here anew and run the same command again`,
    );
  } catch (error) {
    throw fromDiskError(error, given);
  }
}

async function statIfThere(path: string) {
  return stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
}
