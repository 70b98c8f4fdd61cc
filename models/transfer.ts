import { type FileHandle, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Dispatcher, fetch, type Response } from 'undici';
import { DownloadFailure, describeCause, fromDiskError } from './failure.ts';
import { Interrupted, readAnswer, SIZE_TOLERANCE } from './range-answer.ts';
import { formatBytes } from './report.ts';
import { isMissing, parseRecord } from './store.ts';

export interface TransferOptions {
  readonly url: string;
  /** The file that grows; what is in it already is kept and gone on with. */
  readonly partPath: string;
  /** Beside it: the validator (ETag) of the server's file, for a later process. */
  readonly partInfoPath: string;
  /** A size more than 1 % away is not the wanted file (a mirror's error page, say). */
  readonly expectedBytes: number;
  readonly dispatcher: Dispatcher;
  /** Waits before the tries after a failure; the first try and one for each entry. A try that brought a new 1 % of the file starts the list anew. */
  readonly retryDelaysMs: readonly number[] | undefined;
  readonly onProgress: (receivedBytes: number, totalBytes: number) => void;
  /** One line for each thing worth knowing: a retry, a server that cannot resume. */
  readonly onNotice: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Part of the file, not had before, that makes a broken try count as progress; bounds how often the list of delays starts anew. */
const WORTHWHILE = 0.01;
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 16_000] as const;

/**
 * Downloads `url` into `partPath`, going on where an earlier download stopped. The content is not checked here.
 * @returns whether the file was put together from more than one answer, so that its halves may be of different files.
 * @throws DownloadFailure, or ModelFailure for the disk; the abort reason when `signal` aborts.
 */
export async function download(options: TransferOptions): Promise<{ pieced: boolean }> {
  const delaysMs = options.retryDelaysMs ?? RETRY_DELAYS_MS;
  let failures = 0;
  let offset = await sizeOf(options.partPath);
  // The farthest of all tries: bytes that were thrown away and came again are no progress.
  let farthestBytes = offset;
  for (;;) {
    try {
      return { pieced: (await attempt(options, offset)) > 0 };
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof Interrupted)) throw error;
      offset = await sizeOf(options.partPath);
      if (offset - farthestBytes >= options.expectedBytes * WORTHWHILE) failures = 0;
      farthestBytes = Math.max(farthestBytes, offset);
      const waitMs = delaysMs[failures++];
      if (waitMs === undefined) {
        throw new DownloadFailure(
          `${options.url}: ${error.message}; gave up after ${failures} tries at ${formatBytes(offset)} of ${formatBytes(options.expectedBytes)}. ` +
            'Run the same command again to go on from there; HTTPS_PROXY sets a proxy, ASR_MODEL_MIRROR another address',
          { cause: error },
        );
      }
      options.onNotice(`${error.message}; trying again in ${waitMs / 1000} s`);
      await delay(waitMs, undefined, { signal: options.signal });
    }
  }
}

/** @returns the byte that the answer began with. */
async function attempt(options: TransferOptions, offset: number): Promise<number> {
  const etag = offset > 0 ? await readEtag(options) : undefined;
  const headers: Record<string, string> = { 'accept-encoding': 'identity' };
  if (offset > 0) headers['range'] = `bytes=${offset}-`;
  if (etag !== undefined) headers['if-range'] = etag;

  let response: Response;
  try {
    response = await fetch(options.url, { headers, dispatcher: options.dispatcher, signal: options.signal });
  } catch (error) {
    throw new Interrupted(`cannot reach it (${describeCause(error)})`, { cause: error });
  }
  try {
    const plan = readAnswer(response, options, offset);
    if (plan.kind === 'complete') return offset;
    if (plan.kind === 'discard') {
      await rm(options.partPath, { force: true });
      throw new Interrupted(plan.reason);
    }
    if (offset > 0 && plan.from === 0)
      options.onNotice('the server does not go on where it stopped: starting again from the beginning');
    await rememberEtag(options, response.headers.get('etag'));
    await store(options, response, plan.from, plan.totalBytes);
    return plan.from;
  } finally {
    if (!response.bodyUsed) await response.body?.cancel().catch(() => undefined);
  }
}

async function store(
  options: TransferOptions,
  response: Response,
  from: number,
  totalBytes: number | undefined,
): Promise<void> {
  const shownTotalBytes = totalBytes ?? options.expectedBytes;
  const limitBytes = Math.ceil(options.expectedBytes * (1 + SIZE_TOLERANCE));
  let receivedBytes = from;
  let file: FileHandle | undefined;
  try {
    file = await open(options.partPath, from > 0 ? 'a' : 'w');
    for await (const chunk of bodyOf(response)) {
      await file.writeFile(chunk);
      receivedBytes += chunk.byteLength;
      options.onProgress(receivedBytes, shownTotalBytes);
      if (receivedBytes > limitBytes) {
        throw new DownloadFailure(
          `${options.url} sends more than the expected ${options.expectedBytes} bytes: not the model's archive`,
        );
      }
    }
    await file.sync();
  } catch (error) {
    throw fromDiskError(error, options.partPath);
  } finally {
    await file?.close();
  }
  if (receivedBytes < (totalBytes ?? leastBytes(options, response)))
    throw new Interrupted(
      `the connection ended at ${formatBytes(receivedBytes)} of ${formatBytes(shownTotalBytes)}`,
    );
}

/** What an answer of unknown total has to bring; less is a cut, which looks like the end where the connection's end is the answer's (HTTP/1.0). */
function leastBytes(options: TransferOptions, response: Response): number {
  const hasOwnEnd = response.headers.has('content-length') || response.headers.has('transfer-encoding');
  // A whole answer that is too short is another file, such as a login page: trying again would not help.
  if (response.status === 200 && hasOwnEnd) return 0;
  return options.expectedBytes * (1 - SIZE_TOLERANCE);
}

async function* bodyOf(response: Response): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response.body ?? []) yield chunk;
  } catch (error) {
    throw new Interrupted(`the connection broke (${describeCause(error)})`, { cause: error });
  }
}

/** Only a strong ETag may stand in If-Range. Without one the hash of the whole file is the only judge. */
async function rememberEtag(options: TransferOptions, etag: string | null): Promise<void> {
  if (etag === null || etag.startsWith('W/')) await rm(options.partInfoPath, { force: true });
  else await writeFile(options.partInfoPath, JSON.stringify({ url: options.url, etag }));
}

async function readEtag(options: TransferOptions): Promise<string | undefined> {
  const text = await readFile(options.partInfoPath, 'utf8').catch(() => '');
  const { url, etag } = parseRecord(text);
  return url === options.url && typeof etag === 'string' ? etag : undefined;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}
