import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorName, messageOf } from '../../common/errors/errors.ts';
import type { Logger } from '../../common/process/log.ts';
import { ExecutionProviderError, type ModelInfo, type Recognizer } from '../recognizer.ts';
import { folderChange, folderFingerprint } from './folder-change.ts';
import type { HeartbeatSender } from './heartbeat.ts';

export interface ModelLoadingParts {
  readonly recognizer: Recognizer;
  readonly heartbeat: HeartbeatSender;
  /** Where the model's files are or should be. */
  readonly modelFolder: string;
  readonly log: Logger;
  /** How long after a failure it is tried again unasked. */
  readonly tryAgainMs?: number;
}

/** A failure may pass without a trace in the folder: there was no memory, thread or file handle to be had. */
const TRY_AGAIN_MS = 60_000;

/**
 * Loads the model until it works:
 *
 *   loading ──→ loaded
 *      ↑ └────→ failed, reported ── SIGHUP, the model's folder changed, or a minute went by ──┐
 *      └──────────────────────────────────────────────────────────────────────────────────────┘
 */
export class ModelLoading {
  readonly #parts: ModelLoadingParts;
  readonly #retries = new EventTarget();

  constructor(parts: ModelLoadingParts) {
    this.#parts = parts;
  }

  /** Tries again now if the last attempt failed. */
  retry(): void {
    this.#retries.dispatchEvent(new Event('retry'));
  }

  /**
   * @param onFailed called after each attempt that failed and was reported.
   * @throws ExecutionProviderError, which no retry helps; the signal's reason.
   */
  async untilLoaded(signal: AbortSignal, onFailed: () => void): Promise<ModelInfo> {
    const { recognizer, heartbeat, modelFolder, log } = this.#parts;
    for (;;) {
      // Taken before the attempt: what changes during it counts as a change.
      const before = await folderFingerprint(modelFolder);
      // A process that ends has said `draining`.
      signal.throwIfAborted();
      void heartbeat.report({ state: 'loading' });
      try {
        return await recognizer.load();
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ExecutionProviderError) throw error;
        log.error(
          { error: errorName(error), reason: messageOf(error) },
          'the model does not load; trying again on SIGHUP, when its folder changes, or in a minute',
        );
        await heartbeat.report({ state: 'loading', error: errorName(error) });
      }
      onFailed();
      await this.#reasonToRetry(before, signal);
    }
  }

  async #reasonToRetry(before: string, signal: AbortSignal): Promise<void> {
    const { modelFolder, tryAgainMs = TRY_AGAIN_MS } = this.#parts;
    const over = new AbortController();
    const ended = AbortSignal.any([signal, over.signal]);
    try {
      await Promise.race([
        once(this.#retries, 'retry', { signal: ended }),
        sleep(tryAgainMs, undefined, { signal: ended }),
        folderChange(modelFolder, before, ended),
      ]);
    } finally {
      over.abort();
    }
  }
}
