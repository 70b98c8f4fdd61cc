import type { Slot, SlotHolder } from '../common/slot/slot.ts';
import type { Recognizer, RecognizerStream } from './recognizer.ts';

/** What the slot is given while a model call runs, and how often: its API replica may be gone, the call still occupies the model. */
const RENEW_TTL_MS = 2_000;
const RENEW_INTERVAL_MS = 500;
/** No recording takes this long on a machine that the service is of use on: the runtime hangs. */
const STUCK_MS = 60_000;

/** The model is beyond help in this process, which must end so that it is started again. */
export class EngineLost extends Error {
  override readonly name = 'EngineLost';
}

/** What surrounds every use of the model: while a call runs, and at no other time, the slot is renewed from here. */
export class ModelCalls {
  readonly #recognizer: Recognizer;
  readonly #slot: Slot;
  readonly #onLost: (error: EngineLost) => void;
  readonly #stuckMs: number;

  constructor(
    recognizer: Recognizer,
    slot: Slot,
    onLost: (error: EngineLost) => void,
    stuckMs: number = STUCK_MS,
  ) {
    this.#recognizer = recognizer;
    this.#slot = slot;
    this.#onLost = onLost;
    this.#stuckMs = stuckMs;
  }

  /** Starts a recording. @throws InferenceError after reporting that the engine is lost: only a dead one refuses. */
  async open(): Promise<RecognizerStream> {
    try {
      return await this.#recognizer.open();
    } catch (error) {
      this.#onLost(new EngineLost('the engine takes no recording any more', { cause: error }));
      throw error;
    }
  }

  async run<T>(holder: SlotHolder, call: () => Promise<T>): Promise<T> {
    // A renewal that fails is made up for by the next one, and a lost slot shows with the publication after the call.
    const renew = (): void => void this.#slot.renew(holder, RENEW_TTL_MS).catch(() => undefined);
    renew();
    const renewals = setInterval(renew, RENEW_INTERVAL_MS);
    const watchdog = setTimeout(() => {
      this.#onLost(new EngineLost(`a model call has not returned for ${this.#stuckMs / 1000} s`));
    }, this.#stuckMs);
    try {
      return await call();
    } finally {
      clearInterval(renewals);
      clearTimeout(watchdog);
    }
  }
}
