import { Cluster, type Command, Redis } from 'ioredis';
import { afterSilence } from '../time/timer.ts';
import type { RedisClient } from './client.ts';

const COMMAND_TIMEOUT_MS = 1_000;
/**
 * A reader that hears nothing must be back in time: if two seconds of a client's audio wait for what it would
 * have read, the client gets `overloaded`.
 */
const SILENT_READ_MS = 1_000;

/**
 * A command that is not answered within a second fails. ioredis's own `commandTimeout` fails also what was
 * answered while this process itself stood still.
 */
function limit(command: Command): void {
  const settled = afterSilence(COMMAND_TIMEOUT_MS, () => command.reject(new Error('Command timed out')));
  command.promise.then(settled, settled);
}

export class TimedRedis extends Redis {
  override sendCommand(...sent: Parameters<Redis['sendCommand']>): unknown {
    limit(sent[0]);
    return super.sendCommand(...sent);
  }
}

export class TimedCluster extends Cluster {
  override sendCommand(...sent: Parameters<Cluster['sendCommand']>): unknown {
    limit(sent[0]);
    return super.sendCommand(...sent);
  }
}

/**
 * A read that blocks for half a second at most. If not even its end comes, the other side has vanished
 * without a word. Then the connection is opened anew, which nothing else would do for many minutes.
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
