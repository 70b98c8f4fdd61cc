import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorName, messageOf } from '../../common/errors/errors.ts';
import type { Logger } from '../../common/process/log.ts';
import { locateModel, modelFolder } from '../../models/store/locate.ts';
import type { InferenceHeartbeat } from '../heartbeat.ts';
import { ExecutionProviderError, type ModelInfo, type Recognizer } from '../recognizer.ts';
import { folderChange, folderFingerprint } from './folder-change.ts';

export interface ModelLoadingParts {
  readonly recognizer: Recognizer;
  /** Value of `ASR_MODEL`. Each attempt looks for the model anew. */
  readonly setting: string;
  readonly log: Logger;
  /** How long after a failure it is tried again unasked. */
  readonly tryAgainMs?: number;
}

/** A failure may pass without a trace in the folder: there was no memory, thread or file handle to be had. */
const TRY_AGAIN_MS = 60_000;

interface Attempt {
  /** The folder's fingerprint in front of the attempt: what changes during it counts as a change. */
  readonly before: Promise<string>;
  readonly model: Promise<ModelInfo>;
}

/**
 * Loads the model until it works:
 *
 *   loading ──→ loaded
 *      ↑ └────→ failed, reported ── SIGHUP, the model's folder changed, or a minute went by ──┐
 *      └──────────────────────────────────────────────────────────────────────────────────────┘
 */
export class ModelLoading {
  readonly recognizer: Recognizer;
  readonly #parts: ModelLoadingParts;
  readonly #retries = new EventTarget();
  #attempt: Attempt | undefined;

  constructor(parts: ModelLoadingParts) {
    this.recognizer = parts.recognizer;
    this.#parts = parts;
  }

  /** Begins the first attempt ahead of `untilLoaded()`. */
  begin(): void {
    this.#attempt = this.#begun();
  }

  /** Tries again now if the last attempt failed. */
  retry(): void {
    this.#retries.dispatchEvent(new Event('retry'));
  }

  /**
   * @param onFailed called after each attempt that failed and was reported.
   * @throws ExecutionProviderError, which no retry helps; the signal's reason.
   */
  async untilLoaded(
    heartbeat: Pick<InferenceHeartbeat, 'report'>,
    signal: AbortSignal,
    onFailed: () => void,
  ): Promise<ModelInfo> {
    for (;;) {
      // A process that ends has said `draining`.
      signal.throwIfAborted();
      const { before, model } = this.#attempt ?? this.#begun();
      this.#attempt = undefined;
      void heartbeat.report({ state: 'loading' });
      try {
        return await model;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ExecutionProviderError) throw error;
        this.#parts.log.error(
          { error: errorName(error), reason: messageOf(error) },
          'the model does not load; trying again on SIGHUP, when its folder changes, or in a minute',
        );
        await heartbeat.report({ state: 'loading', error: errorName(error) });
      }
      onFailed();
      await this.#reasonToRetry(await before, signal);
    }
  }

  #begun(): Attempt {
    const before = folderFingerprint(modelFolder(this.#parts.setting));
    const model = before.then(() => this.#load());
    model.catch(() => undefined);
    return { before, model };
  }

  async #load(): Promise<ModelInfo> {
    const { setting, log } = this.#parts;
    const model = await locateModel(setting);
    // If the process is killed for want of memory, or a broken graph ends it, no other line names the model.
    log.info(`loading the model ${model.id} in ${model.folder}`);
    return this.recognizer.load(model);
  }

  async #reasonToRetry(before: string, signal: AbortSignal): Promise<void> {
    const { setting, tryAgainMs = TRY_AGAIN_MS } = this.#parts;
    const over = new AbortController();
    const ended = AbortSignal.any([signal, over.signal]);
    try {
      await Promise.race([
        once(this.#retries, 'retry', { signal: ended }),
        sleep(tryAgainMs, undefined, { signal: ended }),
        folderChange(modelFolder(setting), before, ended),
      ]);
    } finally {
      over.abort();
    }
  }
}
