import { Cluster, type Command, Redis } from 'ioredis';
import { afterSilence } from './silence.ts';

const COMMAND_TIMEOUT_MS = 1_000;

/** A command that is not answered within a second fails. ioredis's own `commandTimeout` fails also what was answered while this process itself stood still. */
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
