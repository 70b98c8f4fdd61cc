import { SLOT_TTL_MS } from '../../common/slot/slot.ts';
import { Deferred } from '../../common/time/deferred.ts';
import { parseUploadEnd, type UploadEnd, type UploadStore } from '../../common/uploads/upload-jobs.ts';
import type { AdmittedWork } from '../slot/admission.ts';
import type { ResultFeed } from '../slot/result-feed.ts';
import type { SlotLoss } from '../slot/slot-keeper.ts';

/**
 * - `late`: no end came until the deadline
 * - `vanished`: Redis lost the upload, or was away for longer than the slot lasts
 * - `abandoned`: no inference process is left
 */
export type WaitOutcome = UploadEnd | { kind: 'late' } | { kind: 'vanished' } | { kind: 'abandoned' };

/** One upload's wait for its end. Its stream is read from the start, so no end is missed. */
export class UploadWait implements AdmittedWork {
  readonly #outcome = new Deferred<WaitOutcome>();
  readonly outcome = this.#outcome.promise;
  readonly #store: UploadStore;
  readonly #id: string;
  readonly #unsubscribe: () => void;
  readonly #deadline: NodeJS.Timeout;

  constructor(feed: ResultFeed, store: UploadStore, id: string, deadlineMs: number) {
    this.#store = store;
    this.#id = id;
    this.#unsubscribe = feed.subscribe(store.endStream(id), (entry) => this.#settle(parseUploadEnd(entry)));
    this.#deadline = setTimeout(() => this.#settle({ kind: 'late' }), deadlineMs);
  }

  #settle(outcome: WaitOutcome): void {
    clearTimeout(this.#deadline);
    this.#unsubscribe();
    this.#outcome.resolve(outcome);
  }

  abandoned(): void {
    this.#settle({ kind: 'abandoned' });
  }

  slotLost(loss: SlotLoss): void {
    if (loss.kind === 'store-unavailable') {
      if (loss.awayMs > SLOT_TTL_MS) this.#settle({ kind: 'vanished' });
      return;
    }
    // The end frees the slot too, in the same step: it is there by now, or never.
    this.#store.end(this.#id).then(
      (end) => this.#settle(end ?? { kind: 'vanished' }),
      () => undefined,
    );
  }
}
