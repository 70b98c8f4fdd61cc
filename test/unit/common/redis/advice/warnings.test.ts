import { expect, test } from 'vitest';
import { type RedisFacts, warningsOf } from '../../../../../common/redis/advice/warnings.ts';

const settings = {
  save: '',
  appendonly: 'no',
  'repl-diskless-sync': 'yes',
  'repl-diskless-load': 'disabled',
};

test.each<[Partial<RedisFacts>, RegExp]>([
  [
    { settings: { ...settings, save: '3600 1' } },
    /may write recordings to disk \(save "3600 1", appendonly no\)/,
  ],
  [
    { settings: { ...settings, appendonly: 'yes' } },
    /may write recordings to disk \(save "", appendonly yes\)/,
  ],
  [
    { settings: { save: '' } },
    /cannot tell whether this Redis writes recordings to disk \(CONFIG GET: no answer\)/,
  ],
  [
    { settings: {}, refusal: 'NOPERM' },
    /\(CONFIG GET: NOPERM\); make sure that it has save "" and appendonly no/,
  ],
  [{ info: { connected_slaves: '1' } }, /has replicas, and one that joins may write recordings to disk/],
  [{ info: { role: 'slave' } }, /has replicas, and one that joins may write recordings to disk/],
  [{ info: { redis_version: '5.0.14' } }, /5\.0\.14: .* 6\.2 or newer/],
  [{ info: { redis_version: '6.1.240' } }, /6\.1\.240: .* 6\.2 or newer/],
  [{ info: { maxmemory_policy: 'allkeys-lru' } }, /allkeys-lru.* set maxmemory-policy noeviction/],
  [{ info: { maxmemory_policy: 'volatile-ttl' } }, /volatile-ttl.* set maxmemory-policy noeviction/],
])('%j is warned about', (facts, warning) => {
  expect(warningsOf({ info: {}, settings, ...facts })).toEqual([expect.stringMatching(warning)]);
});

test.each<Partial<RedisFacts>>([
  { info: {} },
  { info: { connected_slaves: '1' }, settings: { ...settings, 'repl-diskless-load': 'swapdb' } },
  { info: { connected_slaves: '0' } },
  { info: { redis_version: '6.2.0' } },
  { info: { redis_version: '7.0.15' } },
  { info: { redis_version: '10.0.0' } },
  { info: { maxmemory_policy: 'noeviction' } },
])('%j is not', (facts) => {
  expect(warningsOf({ info: {}, settings, ...facts })).toEqual([]);
});

test('what cannot be asked of replicas is one line with the rest', () => {
  expect(warningsOf({ info: { role: 'slave' }, settings: {} })).toHaveLength(1);
});
