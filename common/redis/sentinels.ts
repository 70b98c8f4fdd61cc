import type { EventEmitter } from 'node:events';
import { type SentinelConnectionOptions, SentinelConnector } from 'ioredis';

/**
 * Keeps ioredis from printing errors past our log. The connections on which it waits for news of a failover
 * have no listener for errors. So it prints what each meets, with the stack, once one of several Sentinels is
 * down (redis/ioredis#1600). If none answers, the connection to Redis itself reports it.
 */
export class QuietSentinels extends SentinelConnector {
  /** @param options the client's own */
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
    const connect: (...parameters: unknown[]) => EventEmitter = this['connectToSentinel'].bind(this);
    this['connectToSentinel'] = (...parameters: unknown[]) =>
      connect(...parameters).on('error', () => undefined);
  }
}
