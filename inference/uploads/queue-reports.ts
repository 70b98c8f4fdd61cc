import type { Logger } from '../../common/process/log.ts';
import type { RedisClient } from '../../common/redis/client.ts';
import { isAnswerToSelect } from '../../common/redis/connection.ts';

/** BullMQ reports what Redis refuses with each of its attempts, several a second. */
const SAY_AGAIN_MS = 60_000;
const LOCK_LOST =
  'an upload has outlived its lock in the queue, as when Redis or this process stands still: it is given out again, and ended once all the same';
/**
 * How the error begins if no node of a Cluster took a command: while another takes over, or for good. The
 * client's connection does not report it.
 */
const NO_OWNER = 'Too many Cluster redirections';

/** Logs what BullMQ's worker reports, and warns of the same thing once a minute at most. */
export class QueueReports {
  readonly #connection: RedisClient;
  readonly #log: Logger;
  readonly #warnedAtMs = new Map<string, number>();

  /** @param connection the worker's */
  constructor(connection: RedisClient, log: Logger) {
    this.#connection = connection;
    this.#log = log;
  }

  report(error: Error): void {
    if (this.#connection.status !== 'ready' || isOutage(error))
      this.#log.debug({ err: error }, 'upload queue: Redis is away');
    else if (error.message.startsWith(NO_OWNER))
      this.#warn(NO_OWNER, { error: error.message }, 'upload queue: no node of the Cluster has its keys');
    else if (isLockLost(error)) this.#warn(LOCK_LOST, { reason: error.message }, LOCK_LOST);
    else if (error.name === 'ReplyError')
      this.#warn(withoutNumbers(error), { error: error.message }, 'upload queue: Redis refuses');
    else this.#warn(withoutNumbers(error), { err: error }, 'upload queue');
  }

  #warn(kind: string, fields: object, line: string): void {
    if (performance.now() - (this.#warnedAtMs.get(kind) ?? -SAY_AGAIN_MS) < SAY_AGAIN_MS) return;
    this.#warnedAtMs.set(kind, performance.now());
    this.#log.warn(fields, line);
  }
}

/** What a report has in common with the same one of another job, or with another count. */
function withoutNumbers({ message }: Error): string {
  return message.replace(/[0-9a-f]{8,}|\d+/g, '');
}

/** Whether a report is of a job that was given out again, or is over meanwhile. The queue makes several. */
function isLockLost(error: Error): boolean {
  return /^(could not renew lock|Missing lock|Missing key|Lock mismatch) for job /.test(error.message);
}

/**
 * Whether the queue reports an outage of its connection, as it does at every attempt. The outage itself is
 * logged once, where the connections are made. A report may come after the next attempt has succeeded.
 */
function isOutage(error: Error): boolean {
  if ('syscall' in error || isAnswerToSelect(error)) return true;
  return /^(Connection is closed|Socket timeout|Command timed out|UNBLOCKED |WRONGPASS |NOAUTH )/.test(
    error.message,
  );
}
