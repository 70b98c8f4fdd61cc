import { inSpan } from '../../common/process/traces.ts';
import { retryUntilAnswered } from '../../common/redis/retry.ts';
import { SLOT_RENEW_MS, SLOT_TTL_MS, type Slot, type SlotHolder } from '../../common/slot/slot.ts';

/**
 * Takes the slot.
 * @param onUnknown called if Redis did not answer: the slot may be taken all the same. It is given what frees
 * it again, which tries as long as the slot lasts
 * @returns the fence, or undefined when the slot is taken. @throws StoreUnavailable
 */
export async function acquireSlot(
  slot: Pick<Slot, 'acquire' | 'release'>,
  holder: SlotHolder,
  onUnknown: (free: () => Promise<unknown>) => void,
): Promise<number | undefined> {
  try {
    return await inSpan('slot', () => slot.acquire(holder));
  } catch (error) {
    onUnknown(() => retryUntilAnswered(performance.now() + SLOT_TTL_MS, () => slot.release(holder)));
    throw error;
  }
}

/** `awayMs`: since the first of the renewals that failed in a row. */
export type SlotLoss = { kind: 'lost' } | { kind: 'store-unavailable'; awayMs: number };

/**
 * Renews a held slot once a second until stopped. `onLoss` is called for every renewal that finds the slot
 * gone or the store away. Only the holder knows what that means: the last result frees the slot too, a moment
 * before its waiter sees it.
 */
export function keepSlot(
  slot: Pick<Slot, 'renew'>,
  holder: SlotHolder,
  onLoss: (loss: SlotLoss) => void,
): () => void {
  let awaySinceMs: number | undefined;
  const timer = setInterval(() => {
    slot.renew(holder).then(
      (held) => {
        awaySinceMs = undefined;
        if (!held) onLoss({ kind: 'lost' });
      },
      () => {
        awaySinceMs ??= performance.now();
        onLoss({ kind: 'store-unavailable', awayMs: performance.now() - awaySinceMs });
      },
    );
  }, SLOT_RENEW_MS);
  return () => clearInterval(timer);
}
