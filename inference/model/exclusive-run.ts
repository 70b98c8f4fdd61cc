import type { Logger } from '../../common/process/log.ts';
import { inSpan } from '../../common/process/traces.ts';
import { CALL_RENEW_MS, type Slot, type SlotHolder } from '../../common/slot/slot.ts';
import type { Recognizer, RecognizerStream } from '../recognizer.ts';

/** No recording takes this long on a machine that is fast enough: if a call does, the runtime hangs. */
const STUCK_MS = 60_000;

/** Whose work a model call is for. */
export interface ModelWork {
  readonly holder: SlotHolder;
  readonly fence: number | undefined;
}

/** The model is beyond help in this process, which must end so that it is started again. */
export class EngineLost extends Error {
  override readonly name = 'EngineLost';
}

/**
 * Surrounds every use of the model. While a call runs, and only then, this process holds the service's one
 * model and the slot. If Redis pauses, lease, lock or slot may run out. The call goes on all the same, and no
 * other process begins one before it has returned.
 */
export class ExclusiveRun {
  readonly #recognizer: Recognizer;
  readonly #slot: Slot;
  readonly #processId: string;
  readonly #log: Logger;
  readonly #onLost: (error: EngineLost) => void;
  readonly #stuckMs: number;
  #running = 0;

  /** @param processId names this process in the store */
  constructor(
    recognizer: Recognizer,
    slot: Slot,
    processId: string,
    log: Logger,
    onLost: (error: EngineLost) => void,
    stuckMs: number = STUCK_MS,
  ) {
    this.#recognizer = recognizer;
    this.#slot = slot;
    this.#processId = processId;
    this.#log = log;
    this.#onLost = onLost;
    this.#stuckMs = stuckMs;
  }

  /**
   * Starts a recording.
   * @throws InferenceError after reporting that the engine is lost: only a dead one refuses.
   */
  async open(): Promise<RecognizerStream> {
    try {
      return await this.#recognizer.open();
    } catch (error) {
      this.#onLost(new EngineLost('the engine takes no recording any more', { cause: error }));
      throw error;
    }
  }

  /** Whether this process is in a model call. */
  get isRunning(): boolean {
    return this.#running > 0;
  }

  /** @param caller who is in a model call. @returns whether that is another process */
  isAnothers(caller: string | undefined): boolean {
    return caller !== undefined && caller !== this.#processId;
  }

  /** At level debug the log shows when each call begins and ends. Only that shows that no two run at once. */
  async run<T>({ holder, fence }: ModelWork, call: () => Promise<T>): Promise<T> {
    this.#log.debug({ fence }, 'model call begins');
    this.#beginCall(holder);
    const renewals = setInterval(() => this.#renewCall(holder), CALL_RENEW_MS);
    this.#running += 1;
    const watchdog = setTimeout(() => {
      this.#onLost(new EngineLost(`a model call has not returned for ${this.#stuckMs / 1000} s`));
    }, this.#stuckMs);
    try {
      return await inSpan('model call', call);
    } finally {
      clearInterval(renewals);
      clearTimeout(watchdog);
      this.#running -= 1;
      this.#log.debug({ fence }, 'model call ends');
      // Sent before what ends the work, on the same connection: whoever is served next does not wait for it.
      if (this.#running === 0) this.#slot.callEnded(this.#processId).catch(() => undefined);
    }
  }

  /** If it fails, the first renewal makes up for it. A lost slot shows in the publication after the call. */
  #beginCall(holder: SlotHolder): void {
    this.#slot.hold(holder, this.#processId, false).catch(() => undefined);
  }

  #renewCall(holder: SlotHolder): void {
    this.#slot.hold(holder, this.#processId, true).catch(() => undefined);
  }
}
