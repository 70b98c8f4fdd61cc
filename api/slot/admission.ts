import { refused } from '../../common/errors/errors.ts';
import { inSpan, traceparent } from '../../common/process/traces.ts';
import type { HeartbeatSender } from '../../common/readiness/heartbeats.ts';
import type { Readiness, ReadinessStore } from '../../common/readiness/readiness.ts';
import type { Replica } from '../../common/readiness/replicas.ts';
import {
  SLOT_TTL_MS,
  type Slot,
  type SlotHolder,
  type SlotOwner,
  slotHolder,
} from '../../common/slot/slot.ts';
import { retryUntilAnswered } from '../../common/store/retry.ts';
import type { BackgroundWork } from './background-work.ts';
import { keepSlot, type SlotLoss } from './slot-keeper.ts';

interface AdmissionParts {
  readonly readiness: ReadinessStore;
  readonly heartbeat: HeartbeatSender<Replica>;
  readonly slot: Slot;
  readonly background: BackgroundWork;
  /** Names this replica to whoever looks at the slot. */
  readonly replica: string;
}

export interface AdmittedWork {
  /** A renewal of the slot found it gone, or Redis away. */
  slotLost(loss: SlotLoss): void;
  /** No inference process is left. */
  abandoned(): void;
}

/** The door that uploads and streams go through: a service that is usable, then the slot and its fence, kept until they end. */
export class Admission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** What the inference processes say. @throws StoreUnavailable, also from a Redis that takes no writes */
  async look(): Promise<Readiness> {
    const readiness = await this.#parts.readiness.look();
    await this.#parts.heartbeat.expectWritten();
    return readiness;
  }

  /** @throws ServiceFailure `not_ready` while no model can recognize; StoreUnavailable */
  async expectUsable(): Promise<void> {
    if (!(await this.look()).ready) throw refused('model not ready');
  }

  /**
   * Takes the slot. If Redis does not answer, the slot may be taken all the same: then it is freed in the background.
   * @param id of the upload or session. @throws ServiceFailure `busy`; StoreUnavailable
   */
  async admit(id: string, via: SlotOwner['via']): Promise<{ id: string; holder: SlotHolder; fence: number }> {
    const { slot, background, replica } = this.#parts;
    const since = new Date().toISOString();
    const holder = slotHolder({ id, via, replica, since, trace: traceparent() });
    const fence = await inSpan('slot', () => slot.acquire(holder)).catch((error: unknown) => {
      background.run({ [via === 'ws' ? 'sessionId' : 'requestId']: id }, () =>
        // As long as the slot lasts.
        retryUntilAnswered(performance.now() + SLOT_TTL_MS, () => slot.release(holder)),
      );
      throw error;
    });
    if (fence === undefined) throw refused('busy');
    return { id, holder, fence };
  }

  /** Renews the slot, and watches whether an inference process is left for the work. @returns what stops both */
  keep(holder: SlotHolder, work: AdmittedWork): () => void {
    const { readiness, slot } = this.#parts;
    const stopKeeping = keepSlot(slot, holder, (loss) => work.slotLost(loss));
    const stopWatching = readiness.watch(() => work.abandoned());
    return () => {
      stopKeeping();
      stopWatching();
    };
  }
}
