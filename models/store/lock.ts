import { lockHolder, takeLock } from '../../common/process/lock.mjs';
import { ModelFailure } from '../failure.ts';

/**
 * Keeps other processes from a model's files.
 * @returns what releases the lock.
 * @throws ModelFailure when another process holds it.
 */
export async function acquireLock(path: string): Promise<() => void> {
  const release = takeLock(path);
  if (release !== undefined) return release;
  const holder = lockHolder(path);
  throw new ModelFailure(
    `${holder === undefined ? 'another process' : `process ${holder}`} is working on this model: wait until it has finished; if it is gone, delete ${path}`,
  );
}
