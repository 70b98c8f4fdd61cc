import { unreachable } from '../../../common/errors/errors.ts';
import type { SlotOwner } from '../../../common/slot/slot.ts';
import { slotLines } from './screen.ts';
import type { StatusReader } from './status.ts';

export interface Dialogue {
  print(line: string): void;
  /** @returns what the operator typed; undefined if nobody can be asked */
  ask(question: string): Promise<string | undefined>;
}

/**
 * Frees the slot once the operator agrees. Only the holder that was shown loses it.
 * @param agreed without a question
 * @returns whether the slot is free. @throws StoreUnavailable
 */
export async function freeSlot(
  reader: StatusReader,
  agreed: boolean,
  { print, ask }: Dialogue,
): Promise<boolean> {
  const { slot, wrongKeys } = await reader.read();
  const wrong = wrongKeys.find(({ key }) => key.endsWith(':slot'));
  if (wrong !== undefined) {
    print(`taken: another program has written a ${wrong.type} there`);
    if (!(await agrees(agreed, { print, ask }))) return false;
    await reader.slot.clear();
    print('The slot is free now.');
    return true;
  }
  if (slot === undefined) {
    print('The slot is free already.');
    return true;
  }
  for (const line of slotLines(slot)) print(line);
  print(consequence(slot.owner));
  if (!(await agrees(agreed, { print, ask }))) return false;
  print(
    (await reader.slot.release(slot.holder))
      ? 'The slot is free now.'
      : 'That recording has ended meanwhile.',
  );
  return true;
}

async function agrees(agreed: boolean, { print, ask }: Dialogue): Promise<boolean> {
  if (agreed) return true;
  const answer = await ask('Free the slot? [y/N] ');
  if (answer === undefined) print('Nobody can be asked here: say --yes to free it.');
  if (answer?.trim().toLowerCase() === 'y') return true;
  print('The slot was left as it is.');
  return false;
}

/**
 * What the client of that recording is told: `api/streams/active-stream.ts` and `api/uploads/upload-wait.ts`
 * see the loss with their next renewal.
 */
function consequence(owner: SlotOwner | undefined): string {
  const via = owner?.via;
  switch (via) {
    case 'http':
      return 'Its client will be answered 503 not_ready within two seconds, and may send the recording again.';
    case 'ws':
      return 'Its client will hear the error inference_failed within three seconds, and its connection closes with 1011.';
    case undefined:
      return 'No client of this service waits for it.';
    default:
      return unreachable(via);
  }
}
