import { SLOT_RENEW_MS, type Slot, type SlotHolder } from '../../common/slot/slot.ts';

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
