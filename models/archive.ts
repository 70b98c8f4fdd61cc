import { rename, rm, stat } from 'node:fs/promises';
import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { archiveName, type CatalogueEntry, RELEASE_URL } from './catalogue.ts';
import { DownloadFailure, describeCause, ModelFailure } from './failure.ts';
import { isNearly } from './range-answer.ts';
import { Progress, type ProgressOutput } from './report.ts';
import {
  describeMismatch,
  hashFile,
  isMissing,
  type ModelFolders,
  type StorePaths,
  storePaths,
} from './store.ts';
import { download } from './transfer.ts';

export interface NetworkSettings {
  /** Stands in for the part of the address before the archive's name. */
  readonly mirror: string | undefined;
  readonly httpProxy: string | undefined;
  readonly httpsProxy: string | undefined;
  readonly noProxy: string | undefined;
  /** A connection that brings nothing for so long is given up and made anew. */
  readonly stallTimeoutMs?: number;
  readonly retryDelaysMs?: readonly number[];
}

export interface PullOptions {
  readonly entry: CatalogueEntry;
  /** The archive, or a folder that has it, where it was carried to this machine: nothing is downloaded then. */
  readonly from: string | undefined;
  readonly folders: ModelFolders;
  readonly network: NetworkSettings;
  readonly output: ProgressOutput;
  readonly signal: AbortSignal;
}

/** @throws ModelFailure when the mirror is no address that an archive's name can be put behind. */
export function archiveUrl(entry: CatalogueEntry, mirror: string | undefined): string {
  const prefix = mirror?.trim() || RELEASE_URL;
  const fault = mirrorFault(prefix);
  if (fault !== undefined) {
    throw new ModelFailure(
      `ASR_MODEL_MIRROR is ${fault}: expected http:// or https:// without user, password, query and fragment, because the archive's name is appended to it, e.g. ${RELEASE_URL}`,
    );
  }
  return `${prefix.replace(/\/+$/, '')}/${archiveName(entry)}`;
}

/** What the mirror is instead of what it should be; without the parts that may be secret, the signature of a query among them. */
function mirrorFault(mirror: string): string | undefined {
  // What is in front of an "@" or behind a "?" or "#" may be secret, also where the rest is no address: a password with a "/" ends the host.
  if (!URL.canParse(mirror)) return /[@?#]/.test(mirror) ? 'not an address' : `"${mirror}"`;
  const { protocol, username, password } = new URL(mirror);
  if (!/^https?:$/.test(protocol)) return `an address with ${protocol}`;
  if (username !== '' || password !== '') return 'an address with a user or a password';
  return /[?#]/.test(mirror) ? 'an address with a query or a fragment ("?", "#")' : undefined;
}

/** Ends with the verified archive under its own name. */
export async function fetchArchive(options: PullOptions, url: string, signal: AbortSignal): Promise<void> {
  const { entry, folders, network, output } = options;
  const paths = storePaths(folders, entry.id);
  // Left by a pull that was stopped while it unpacked, or just before: neither needs the network.
  for (const path of [paths.archive, paths.part]) {
    if ((await hashLeft(path, entry.archiveBytes, signal)) !== entry.archiveSha256) continue;
    await settle(path, paths);
    return;
  }
  await rm(paths.archive, { force: true });

  const dispatcher = makeDispatcher(network);
  try {
    for (const isSecond of [false, true]) {
      const progress = new Progress(entry.id, output);
      const { pieced } = await download({
        url,
        partPath: paths.part,
        partInfoPath: paths.partInfo,
        expectedBytes: entry.archiveBytes,
        dispatcher,
        retryDelaysMs: network.retryDelaysMs,
        onProgress: (received, total) => progress.update(received, total),
        onNotice: (line) => {
          progress.end();
          output.write(`${line}\n`);
        },
        signal,
      }).finally(() => progress.end());
      const sha256 = await hashFile(paths.part, signal);
      if (sha256 === entry.archiveSha256) break;
      const { size } = await stat(paths.part);
      await rm(paths.part, { force: true });
      await rm(paths.partInfo, { force: true });
      const wrong = describeMismatch(url, size, sha256, entry);
      if (isSecond || !pieced)
        throw new DownloadFailure(`${wrong}. It was deleted. If ASR_MODEL_MIRROR is set, try without it`);
      // The pieces may be of different versions of the file: one download from the beginning tells.
      output.write(`${wrong}; it was downloaded in pieces: starting again from the beginning\n`);
    }
  } finally {
    await dispatcher.destroy();
  }
  await settle(paths.part, paths);
}

/** @returns the sha256 of what an earlier pull left, if it is there and about as long as the whole archive. */
async function hashLeft(
  path: string,
  archiveBytes: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const found = await stat(path);
    // A part that is incomplete is not read for nothing; a folder in its place is for hashFile to refuse.
    if (!found.isDirectory() && !isNearly(archiveBytes, found.size)) return undefined;
    return await hashFile(path, signal);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Gives the verified archive its name. */
async function settle(verified: string, paths: StorePaths): Promise<void> {
  await rename(verified, paths.archive);
  await rm(paths.part, { force: true });
  await rm(paths.partInfo, { force: true });
}

/** Undici reads the environment itself where a setting is undefined; an empty one keeps it from doing so. Its SOCKS is curl's "socks5h": the proxy looks names up. */
const proxyAddress = (setting: string | undefined): string => setting?.replace(/^socks5h:/i, 'socks5:') ?? '';

function makeDispatcher(network: NetworkSettings): Dispatcher {
  const stallTimeoutMs = network.stallTimeoutMs ?? 60_000;
  const timeouts = { headersTimeout: stallTimeoutMs, bodyTimeout: stallTimeoutMs };
  try {
    return new EnvHttpProxyAgent({
      httpProxy: proxyAddress(network.httpProxy),
      httpsProxy: proxyAddress(network.httpsProxy),
      noProxy: network.noProxy ?? '',
      // For http:// only, https:// has its tunnel all the same: a proxy may refuse one to port 80, as Squid does.
      proxyTunnel: false,
      // Where there is no tunnel, undici does not hand the timeouts on to the proxy's connections.
      factory: (origin, options) => new Pool(origin, { ...options, ...timeouts }),
      connect: { timeout: Math.min(stallTimeoutMs, 15_000) },
      clientFactory: (proxy, options) => new Pool(proxy, { ...options, ...timeouts }).compose(closedForGood),
    }).compose(closedInPeace);
  } catch (error) {
    // Without the value: it may hold a password.
    throw new ModelFailure(
      `HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not a proxy address (${describeCause(error)}): expected e.g. http://proxy.example:3128 or socks5://proxy.example:1080`,
    );
  }
}

/**
 * Undici 7 ends the whole process when a server closes its connection behind the body, as HTTP/1.0 and `Connection: close` have it, while the
 * body's reader is behind (nodejs/undici#5360). So only a connection that stays open is told to wait for the disk; what waits in memory
 * otherwise is less than the archive.
 */
export function closedInPeace(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) => {
    let staysOpen = false;
    return dispatch(options, {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onResponseStart: (controller, status, headers, statusText) => {
        const hasEnd = 'content-length' in headers || 'transfer-encoding' in headers;
        staysOpen = hasEnd && /^keep-alive$/i.test(String(headers['connection']));
        handler.onResponseStart?.(controller, status, headers, statusText);
      },
      onResponseData: (controller, chunk) => {
        handler.onResponseData?.(controller, chunk);
        if (!staysOpen) controller.resume();
      },
      onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
      onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
    });
  };
}

/**
 * A proxy that closes the connection it is asked for a tunnel on (a SOCKS proxy given as one for HTTP) is asked again at once by undici, and
 * without end, if the error says that it came from the socket.
 */
function closedForGood(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) =>
    dispatch(options, {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onRequestUpgrade: (...upgrade) => handler.onRequestUpgrade?.(...upgrade),
      onResponseStart: (...response) => handler.onResponseStart?.(...response),
      onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
      onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
      onResponseError: (controller, error) =>
        handler.onResponseError?.(controller, new Error(`the proxy: ${error.message}`)),
    });
}
