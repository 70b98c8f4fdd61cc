import type { RedisClient } from './lua.ts';

/** A reader that hears nothing must be there again before two seconds of a client's audio wait for what it would have read: those end in `overloaded`. */
const SILENT_READ_MS = 1_000;

/**
 * A read that blocks for half a second at most. When not even its end comes, the other side has vanished without a word, and the connection is opened anew: nothing
 * else would do so for many minutes.
 * @param blocking the connection that it is read from. @throws what `read` throws; Error when the connection was given up
 */
export function blockingRead<T>(blocking: RedisClient, read: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      blocking.disconnect(true);
      reject(new Error(`no answer to a blocking read within ${SILENT_READ_MS} ms`));
    };
    let late: NodeJS.Immediate | undefined;
    const timer = setTimeout(() => {
      // This process may itself have stood still: what has arrived meanwhile is read first.
      late = setImmediate(giveUp);
    }, SILENT_READ_MS);
    read
      .finally(() => {
        clearTimeout(timer);
        clearImmediate(late);
      })
      .then(resolve, reject);
  });
}
