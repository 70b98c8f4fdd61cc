import type { Slot, SlotHolder } from '../common/slot/slot.ts';
import { SLOT_RENEW_MS } from '../common/slot/slot.ts';

export type SlotLoss = 'lost' | 'store-unavailable';

/**
 * Renews a held slot once a second until stopped. `onLoss` is called for every renewal that finds the slot gone or the store away, since what that
 * means is the holder's to know: the last result frees the slot too, a moment before its waiter sees it.
 */
export function keepSlot(slot: Slot, holder: SlotHolder, onLoss: (loss: SlotLoss) => void): () => void {
  let running = false;
  const timer = setInterval(() => {
    if (running) return;
    running = true;
    slot
      .renew(holder)
      .then(
        (held) => held || onLoss('lost'),
        () => onLoss('store-unavailable'),
      )
      .finally(() => {
        running = false;
      });
  }, SLOT_RENEW_MS);
  return () => clearInterval(timer);
}
