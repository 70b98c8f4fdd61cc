import type { RedisClient } from '../redis/client.ts';
import { blockingRead } from '../redis/timeouts.ts';

/** One entry of a Redis stream as it comes: its id, then field, value, field, value ... */
export type StreamEntry<Text = string> = [id: Text, fields: Text[]];

export type ReadStreams = [stream: string, entries: StreamEntry[]][];

/**
 * Waits for new entries of several streams at once; a stream that is not there yet counts as empty.
 * @param blocking a connection of its own  @param after stream → id of the last entry seen, `0` for none
 * @returns the streams that have some. @throws the client's errors, at once while Redis is away
 */
export async function readStreams(
  blocking: RedisClient,
  after: ReadonlyMap<string, string>,
  blockMs: number,
): Promise<ReadStreams> {
  const streams = [...after.keys(), ...after.values()];
  const read = blocking.xread('COUNT', 100, 'BLOCK', blockMs, 'STREAMS', ...streams);
  return (await blockingRead(blocking, read)) ?? [];
}

/**
 * What `readStreams` would give at once. It does not wait, so it may use a connection that others use too.
 * @throws the client's errors
 */
export async function readStreamsNow(
  redis: RedisClient,
  after: ReadonlyMap<string, string>,
): Promise<ReadStreams> {
  return (await redis.xread('COUNT', 100, 'STREAMS', ...after.keys(), ...after.values())) ?? [];
}

export function fieldsOf([, fields]: StreamEntry): Map<string, string> {
  const map = new Map<string, string>();
  for (let index = 0; index + 1 < fields.length; index += 2)
    map.set(fields[index] ?? '', fields[index + 1] ?? '');
  return map;
}
