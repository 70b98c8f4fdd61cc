import type { EventEmitter } from 'node:events';
import { type SentinelConnectionOptions, SentinelConnector } from 'ioredis';

/**
 * ioredis gives the connections on which it waits for news of a failover no listener for errors, and so prints what each meets, with its stack and past
 * our log, as soon as one of several Sentinels is down (redis/ioredis#1600). When none answers, the connection to Redis itself reports it.
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
