import type { RedisClient } from './lua.ts';
import { afterSilence } from './silence.ts';

/** A reader that hears nothing must be there again before two seconds of a client's audio wait for what it would have read: those end in `overloaded`. */
const SILENT_READ_MS = 1_000;

/**
 * A read that blocks for half a second at most. When not even its end comes, the other side has vanished without a word, and the connection is opened anew: nothing
 * else would do so for many minutes.
 * @param blocking the connection that it is read from. @throws what `read` throws; Error when the connection was given up
 */
export function blockingRead<T>(blocking: RedisClient, read: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const answered = afterSilence(SILENT_READ_MS, () => {
      blocking.disconnect(true);
      reject(new Error(`no answer to a blocking read within ${SILENT_READ_MS} ms`));
    });
    read.finally(answered).then(resolve, reject);
  });
}
