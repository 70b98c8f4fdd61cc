import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Dispatcher, fetch, type Response } from 'undici';
import { PrintableError } from '../../common/errors/printable.ts';
import { codeOf, describeCause, isSystemError, ModelFailure } from '../failure.ts';
import { sizeOf } from '../store/store.ts';
import { formatBytes, type Progress } from './report.ts';

export interface TransferOptions {
  readonly url: string;
  /** The file that grows. What is in it already is kept, and the download goes on from there. */
  readonly partPath: string;
  /**
   * Size of the whole file, as third parties list it. What is far from it is another file, such as a mirror's
   * error page.
   */
  readonly listedBytes: number;
  readonly dispatcher: Dispatcher;
  /** A try that brings nothing for so long is given up. */
  readonly stallTimeoutMs: number;
  /** Waits before the tries after a failure; a try that brought something starts the list anew. */
  readonly retryDelaysMs: readonly number[];
  /** How long a try without a network may take: the dispatcher's limit for a connection. */
  readonly connectTimeoutMs: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/**
 * The sizes of the catalogue are those that third parties list, so a small difference passes. The sha256
 * decides.
 */
const SIZE_TOLERANCE = 0.01;

/** A machine without a network says so within this time, in all its tries together. */
const REACHED_WITHIN_MS = 10_000;
/** No name, no route, or no answer to the first packet. A server that refuses or cuts a connection is there. */
const NO_NETWORK =
  /^(ENOTFOUND|EAI_AGAIN|ENETDOWN|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/;

/** A try that failed in a way that may pass: connection, stall, overloaded server. */
class Interrupted extends PrintableError {
  override readonly name = 'Interrupted';
}

/**
 * Downloads `url` into `partPath`, going on where an earlier download stopped. The content is not checked
 * here.
 * @throws ModelFailure; an error of the disk; the abort reason when `signal` aborts.
 */
export async function download(options: TransferOptions): Promise<void> {
  const { url, partPath, listedBytes, retryDelaysMs, connectTimeoutMs } = options;
  const lastTryAt = performance.now() + REACHED_WITHIN_MS - connectTimeoutMs;
  let failures = 0;
  let reached = false;
  for (;;) {
    const before = await sizeOf(partPath);
    try {
      return await attempt(options, before);
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof Interrupted)) throw error;
      const after = await sizeOf(partPath);
      if (after > before) {
        failures = 0;
        reached = true;
      }
      const waitMs = retryDelaysMs[failures++];
      const noNetwork = !reached && NO_NETWORK.test(codeOf(error));
      if (waitMs === undefined || (noNetwork && performance.now() + waitMs > lastTryAt)) {
        throw new ModelFailure(
          `${url}: ${error.message}; gave up after ${failures === 1 ? 'one try' : `${failures} tries`} at ${formatBytes(after)} of ${formatBytes(listedBytes)}. ` +
            'Run the same command again to go on from there; HTTPS_PROXY sets a proxy, ASR_MODEL_MIRROR another address',
          { cause: error },
        );
      }
      options.progress.note(`${error.message}; trying again in ${waitMs / 1000} s`);
      await delay(waitMs, undefined, { signal: options.signal });
    }
  }
}

async function attempt(options: TransferOptions, offset: number): Promise<void> {
  const { url, dispatcher, stallTimeoutMs } = options;
  const stall = new AbortController();
  const timer = setTimeout(
    () => stall.abort(new Error(`nothing came for ${stallTimeoutMs / 1000} s`)),
    stallTimeoutMs,
  );
  const signal = AbortSignal.any([options.signal, stall.signal]);
  // A range of a compressed file would count compressed bytes.
  const headers: Record<string, string> = { 'accept-encoding': 'identity' };
  if (offset > 0) headers['range'] = `bytes=${offset}-`;
  try {
    const response = await fetch(url, { headers, dispatcher, signal }).catch((error: unknown) => {
      throw new Interrupted(`cannot reach it (${describeCause(error)})`, { cause: error });
    });
    // Nothing is left to send (RFC 9110 §15.5.17): what is here is whole, or another file.
    if (response.status === 416 && offset > 0) return;
    const totalBytes = checkAnswer(response, options);
    const isRest = response.status === 206;
    if (offset > 0 && !isRest)
      options.progress.note('the server does not go on where it stopped: starting again from the beginning');
    await store(response, options, isRest ? offset : 0, totalBytes, () => timer.refresh());
  } finally {
    clearTimeout(timer);
    // Ends an answer that was not read.
    stall.abort();
  }
}

/** @returns the size of the whole file, the listed one where the server does not know it */
function checkAnswer({ status, headers }: Response, { url, listedBytes }: TransferOptions): number {
  if (status === 408 || status === 429 || status >= 500) throw new Interrupted(`HTTP ${status}`);
  if (status !== 200 && status !== 206) {
    throw new ModelFailure(
      `${url}: HTTP ${status}. If ASR_MODEL_MIRROR is set, check that it holds this file`,
    );
  }
  const totalBytes = Number(
    (status === 206 ? headers.get('content-range')?.split('/')[1] : headers.get('content-length')) ?? '*',
  );
  if (Number.isNaN(totalBytes)) return listedBytes;
  if (Math.abs(totalBytes - listedBytes) > listedBytes * SIZE_TOLERANCE) {
    throw new ModelFailure(
      `${url} is a file of ${totalBytes} bytes, expected about ${listedBytes}: not the model's archive. If ASR_MODEL_MIRROR is set, check it`,
    );
  }
  return totalBytes;
}

async function store(
  response: Response,
  { partPath, progress }: TransferOptions,
  from: number,
  totalBytes: number,
  onBytes: () => void,
): Promise<void> {
  let receivedBytes = from;
  const file = await open(partPath, from > 0 ? 'a' : 'w');
  try {
    for await (const chunk of response.body ?? []) {
      onBytes();
      await file.writeFile(chunk);
      receivedBytes += chunk.byteLength;
      progress.update(receivedBytes, totalBytes);
    }
  } catch (error) {
    if (isSystemError(error)) throw error;
    throw new Interrupted(`the connection broke (${describeCause(error)})`, { cause: error });
  } finally {
    await file.close();
  }
  // A server may send less of a range than was asked for (RFC 9110 §15.3.7). A whole answer that is too short
  // is another file.
  if (response.status === 206 && receivedBytes < totalBytes)
    throw new Interrupted(`it sent ${formatBytes(receivedBytes)} of ${formatBytes(totalBytes)}`);
}
