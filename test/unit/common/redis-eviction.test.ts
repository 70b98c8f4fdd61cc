import { expect, test } from 'vitest';
import { evicting } from '../../../common/redis-eviction.ts';

const info = (policy: string): string => `# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:${policy}\r\n`;

test.each(['allkeys-lru', 'volatile-ttl'])(
  'a Redis with %s is said to drop keys, and what to set',
  (policy) => {
    expect(evicting(info(policy))).toMatch(new RegExp(`${policy}.* set maxmemory-policy noeviction`));
  },
);
test('one that refuses new keys is not warned about, nor one that does not say', () => {
  expect(evicting(info('noeviction'))).toBeUndefined();
  expect(evicting('')).toBeUndefined();
});
