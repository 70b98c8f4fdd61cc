import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keepSlot, type SlotLoss } from '../../../../api/slot/slot-keeper.ts';
import { StoreUnavailable } from '../../../../common/errors/errors.ts';
import { SLOT_RENEW_MS } from '../../../../common/slot/slot.ts';

type Answer = 'held' | 'lost' | 'away';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** What the holder hears when its renewals, one after the other, are answered like this. */
async function losses(answers: readonly Answer[]): Promise<SlotLoss[]> {
  const heard: SlotLoss[] = [];
  const left = [...answers];
  const renew = async (): Promise<boolean> => {
    const answer = left.shift();
    if (answer === 'away') throw new StoreUnavailable('Redis: Command timed out');
    return answer === 'held';
  };
  const stop = keepSlot({ renew }, 'holder', (loss) => heard.push(loss));
  await vi.advanceTimersByTimeAsync(answers.length * SLOT_RENEW_MS);
  stop();
  await vi.advanceTimersByTimeAsync(SLOT_RENEW_MS);
  expect(left).toEqual([]);
  return heard;
}

const away = (awayMs: number): SlotLoss => ({ kind: 'store-unavailable', awayMs });

test('a slot that is held is no news, a lost one is with each renewal', async () => {
  expect(await losses(['held', 'held'])).toEqual([]);
  expect(await losses(['held', 'lost', 'lost'])).toEqual([{ kind: 'lost' }, { kind: 'lost' }]);
});

test('how long the store is away counts from the first renewal that failed', async () => {
  expect(await losses(['away', 'away', 'away'])).toEqual([away(0), away(1_000), away(2_000)]);
});

test.each(['held', 'lost'] as const)(
  'and from the start again when it has answered in between: %s',
  async (answer) => {
    const heard = await losses(['away', 'away', answer, 'held', 'held', 'held', 'held', 'away']);
    expect(heard.filter(({ kind }) => kind === 'store-unavailable')).toEqual([away(0), away(1_000), away(0)]);
  },
);
