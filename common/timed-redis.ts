import { Cluster, type Command, Redis } from 'ioredis';

const COMMAND_TIMEOUT_MS = 1_000;

/**
 * A command that is not answered within a second fails. ioredis's own `commandTimeout` fails also what was answered while this process itself stood still: its
 * timer is looked at before the socket is.
 */
function limit(command: Command): void {
  let late: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    // What has arrived meanwhile is read first.
    late = setImmediate(() => command.reject(new Error('Command timed out')));
  }, COMMAND_TIMEOUT_MS);
  const settled = (): void => {
    clearTimeout(timer);
    clearImmediate(late);
  };
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
