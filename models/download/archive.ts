import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { archiveName, type CatalogueEntry, RELEASE_URL } from '../catalogue.ts';
import { ModelFailure } from '../failure.ts';
import { sizeOf, statIfThere } from '../store/store.ts';
import { makeDispatcher } from './dispatcher.ts';
import { Progress, type Screen } from './report.ts';
import { download } from './transfer.ts';

export interface NetworkSettings {
  /** Where `ASR_MODEL_MIRROR` and the proxies are. */
  readonly env: NodeJS.ProcessEnv;
  /** A connection that brings nothing for so long is given up and made anew. */
  readonly stallTimeoutMs?: number;
  readonly retryDelaysMs?: readonly number[];
  /** How long a connection may take to be made. */
  readonly connectTimeoutMs?: number;
}

/** What a model is unpacked from. */
export interface ArchiveSource {
  readonly path: string;
  /** Where it came from: `file:` for one that was carried here. */
  readonly url: string;
}

const STALL_TIMEOUT_MS = 60_000;
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 16_000] as const;
/** A first packet that was lost is sent again after 1 and 3 s. Undici's clock may be a second late. */
const CONNECT_TIMEOUT_MS = 6_500;

/** @throws ModelFailure when the mirror is no address that an archive's name can be put behind. */
export function archiveUrl(entry: CatalogueEntry, mirror: string | undefined): string {
  const prefix = mirror?.trim() || RELEASE_URL;
  const address = URL.canParse(prefix) ? new URL(prefix) : undefined;
  if (!address || !/^https?:$/.test(address.protocol) || address.username || /[?#]/.test(prefix)) {
    // What is in front of an "@" or behind a "?" or "#" may be secret.
    const shown = /[@?#]/.test(prefix) ? 'no address that can be used' : `"${prefix}"`;
    throw new ModelFailure(
      `ASR_MODEL_MIRROR is ${shown}: expected http:// or https:// without user, password, query and fragment, because the archive's name is appended to it, e.g. ${RELEASE_URL}`,
    );
  }
  return `${prefix.replace(/\/+$/, '')}/${archiveName(entry)}`;
}

/**
 * Downloads an archive and compares its sha256, going on where an earlier pull stopped. One that is whole
 * already needs no network.
 * @throws ModelFailure, which says how to go without a download where that is what failed; an error of the
 * disk; the abort reason.
 */
export async function fetchArchive(
  entry: CatalogueEntry,
  { url, path }: ArchiveSource,
  network: NetworkSettings,
  screen: Screen,
  signal: AbortSignal,
): Promise<void> {
  if ((await sizeOf(path)) > 0 && (await differenceOf(path, entry, signal)) === undefined) return;
  const connectTimeoutMs = network.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const dispatcher = makeDispatcher(network.env, connectTimeoutMs);
  const progress = new Progress(entry.id, screen);
  try {
    await download({
      url,
      partPath: path,
      listedBytes: entry.archiveBytes,
      dispatcher,
      stallTimeoutMs: network.stallTimeoutMs ?? STALL_TIMEOUT_MS,
      retryDelaysMs: network.retryDelaysMs ?? RETRY_DELAYS_MS,
      connectTimeoutMs,
      progress,
      signal,
    });
    const difference = await differenceOf(path, entry, signal);
    if (difference === undefined) return;
    await rm(path);
    throw new ModelFailure(
      `${url}: ${difference}. It was deleted: run the same command again; if ASR_MODEL_MIRROR is set, without it`,
    );
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    throw new ModelFailure(
      `${error.message}. On a machine without internet, carry this file here and run: npm run models -- pull ${entry.id} --from ${archiveName(entry)}`,
      { cause: error },
    );
  } finally {
    progress.end();
    await dispatcher.destroy();
  }
}

/**
 * Verifies an archive that was carried to this machine. It is read where it lies and left as it is.
 * @param from the archive, under any name, or a folder that has it under its own; relative to the working
 * directory.
 * @throws ModelFailure when it is not there or is not the catalogue's; the abort reason when `signal` aborts.
 */
export async function verifyCarried(
  entry: CatalogueEntry,
  from: string,
  signal: AbortSignal,
): Promise<ArchiveSource> {
  const name = archiveName(entry);
  const given = resolve(from);
  const isFolder = (await statIfThere(given))?.isDirectory() === true;
  const path = isFolder ? join(given, name) : given;
  if ((await statIfThere(path)) === undefined) {
    throw new ModelFailure(
      isFolder
        ? `the folder ${given} does not have ${name}: carry ${RELEASE_URL}/${name} there. A folder with an unpacked model needs no pull: ASR_MODEL=${given} npm start`
        : `there is no ${given}: give --from the path of ${name}, or of the folder that has it`,
    );
  }
  const difference = await differenceOf(path, entry, signal);
  if (difference === undefined) return { path, url: pathToFileURL(path).href };
  throw new ModelFailure(
    `${path}: ${difference}. It is another file, or was damaged on its way: carry ${RELEASE_URL}/${name} here anew and run the same command again`,
  );
}

/** @returns in what a file is not the catalogue's archive; undefined when it is. */
async function differenceOf(
  path: string,
  entry: CatalogueEntry,
  signal: AbortSignal,
): Promise<string | undefined> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { signal });
  const sha256 = hash.digest('hex');
  if (sha256 === entry.archiveSha256) return undefined;
  return `${await sizeOf(path)} bytes with sha256 ${sha256}, expected ${entry.archiveBytes} bytes with ${entry.archiveSha256}`;
}
