import { once } from 'node:events';
import { errorName, messageOf } from '../common/errors.ts';
import type { Logger } from '../common/log.ts';
import { folderChange, folderFingerprint } from './folder-change.ts';
import type { HeartbeatSender } from './heartbeat.ts';
import { ExecutionProviderError, type ModelInfo, type Recognizer } from './recognizer.ts';

export interface ModelLoadingParts {
  readonly recognizer: Recognizer;
  readonly heartbeat: HeartbeatSender;
  /** Where the model's files are or should be; undefined: nothing to watch. */
  readonly modelFolder: string | undefined;
  readonly log: Logger;
}

/**
 * Loads the model until it works:
 *
 *   loading ──→ loaded
 *      ↑ └────→ failed, reported ── SIGHUP, or the model's folder changed ──┐
 *      └────────────────────────────────────────────────────────────────────┘
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
      const before = modelFolder === undefined ? '' : await folderFingerprint(modelFolder);
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
          'the model does not load; trying again on SIGHUP or when its folder changes',
        );
        await heartbeat.report({ state: 'loading', error: errorName(error) });
      }
      onFailed();
      await this.#retryOrChange(before, signal);
    }
  }

  async #retryOrChange(before: string, signal: AbortSignal): Promise<void> {
    const { modelFolder } = this.#parts;
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const waits: Promise<unknown>[] = [once(this.#retries, 'retry', { signal: either })];
    if (modelFolder !== undefined) waits.push(folderChange(modelFolder, before, either));
    try {
      await Promise.race(waits);
    } finally {
      over.abort();
    }
  }
}
