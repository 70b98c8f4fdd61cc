import { EventEmitter } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { StoreUnavailable } from '../../../common/errors.ts';
import { createLogger } from '../../../common/log.ts';
import type { RedisClient } from '../../../common/lua.ts';
import { refusedWith } from '../../../common/redis.ts';
import { Outage, OutageLog } from '../../../common/redis-outage.ts';

/** What Redis 6.2 answers to a script that met a refusal; a newer one answers with the refusal itself. */
const byScript = (refusal: string): string =>
  `ERR Error running script (call to f_45e87c07f6aff394093b73766a458691d0460655): @user_script:12: @user_script: 12: -${refusal}`;

const REPLICA = "READONLY You can't write against a read only replica.";
const FULL = "OOM command not allowed when used memory > 'maxmemory'.";

test.each([REPLICA, byScript(REPLICA)])('a replica is known by its answer: %s', (answer) => {
  expect(refusedWith('READONLY', answer)).toBe(true);
  expect(refusedWith('OOM', answer)).toBe(false);
});

test.each([FULL, byScript(FULL)])('a Redis that is full is one line that says what to do: %s', (answer) => {
  const lines: string[] = [];
  const outages = new OutageLog(
    createLogger('info', 'inference', { write: (line) => void lines.push(line) }),
  );
  const refusal = new StoreUnavailable('Redis', { cause: new Error(answer) });
  outages.failed(refusal);
  outages.failed(refusal);
  const full = expect.stringContaining('maxmemory is reached: raise it');
  expect(lines).toEqual([full]);
  outages.worked();
  outages.worked();
  outages.failed(refusal);
  expect(lines).toEqual([full, expect.stringContaining('Redis works again'), full]);
});

test.each([
  [REPLICA, 'it is a replica: REDIS_URL must lead to the master'],
  ["NOPERM this user has no permissions to run the 'evalsha' command", 'must be allowed every command'],
  ['MISCONF Redis is configured to save RDB snapshots, but', 'start it with --save "" --appendonly no'],
  [
    'ERR Error running script (call to f_45): @user_script:6: @user_script: 6: Unknown Redis command called from Lua script ',
    'it lacks a command',
  ],
])('so is what any other Redis refuses with: %s', (answer, advice) => {
  const lines: string[] = [];
  const outages = new OutageLog(createLogger('info', 'api', { write: (line) => void lines.push(line) }));
  outages.failed(new StoreUnavailable('Redis', { cause: new Error(answer) }));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 50, msg: expect.stringContaining(advice) }),
  ]);
});

test('what no connection reports is said when it has lasted, once, and nothing of an outage that one has reported', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const outages = new OutageLog(createLogger('info', 'api', { write: (line) => void lines.push(line) }));
  const down = new StoreUnavailable('Redis', { cause: new Error("Cluster isn't ready and …") });
  const fail = (): void => {
    for (const passedMs of [0, 9_999, 1, 1_000]) {
      vi.advanceTimersByTime(passedMs);
      outages.failed(down);
    }
  };
  outages.failed(down);
  outages.worked();
  vi.advanceTimersByTime(20_000);
  outages.failed(down);
  expect(lines).toEqual([]);
  outages.worked();
  fail();
  outages.worked();
  const said = lines.map((line) => JSON.parse(line));
  expect(said).toEqual([
    expect.objectContaining({
      level: 50,
      error: "Cluster isn't ready and …",
      msg: expect.stringContaining('CLUSTER INFO'),
    }),
    expect.objectContaining({ level: 30, msg: 'Redis works again' }),
  ]);
  outages.onError('one')(new Error('ECONNREFUSED'));
  fail();
  expect(lines).toHaveLength(3);
});

test('Redis is back when the last of several connections is', () => {
  const lines: string[] = [];
  const outages = new OutageLog(createLogger('info', 'api', { write: (line) => void lines.push(line) }));
  const [one, other] = ['one', 'other'].map((name) => {
    const client = new EventEmitter();
    client.on('error', outages.onError(name));
    outages.watch(name, client as RedisClient);
    return client;
  });
  for (const _ of [1, 2]) for (const client of [one, other]) client?.emit('error', new Error('ECONNREFUSED'));
  one?.emit('ready');
  one?.emit('error', new Error('NOAUTH Authentication required.'));
  one?.emit('ready');
  const said = () => lines.map((line) => [JSON.parse(line).level, JSON.parse(line).msg]);
  const away = [
    [40, 'Redis is away; trying again until it is back'],
    [50, expect.stringContaining('Redis wants a password')],
  ];
  expect(said()).toEqual(away);
  other?.emit('ready');
  expect(said()).toEqual([...away, [30, 'Redis is back']]);
  one?.emit('error', new Error('ECONNREFUSED'));
  expect(said().at(-1)).toEqual(away[0]);
});

test('an address with several sides that all refuse has a reason, too', () => {
  const sides = ['::1', '127.0.0.1'].map((side) => new Error(`connect ECONNREFUSED ${side}:6379`));
  const outage = new Outage();
  expect(outage.heard(new AggregateError(sides))?.reason).toContain('ECONNREFUSED 127.0.0.1:6379');
  expect(outage.heard(new Error('another attempt'))).toBeUndefined();
});

test.each(['WRONGPASS invalid username-password pair', 'NOAUTH Authentication required.'])(
  'what a Cluster’s client keeps in an error of its own is said: %s',
  (answer) => {
    const error = Object.assign(new Error('Failed to refresh slots cache.'), {
      lastNodeError: new Error(answer),
    });
    expect(new Outage().heard(error)).toMatchObject({
      isRefusal: true,
      line: expect.stringContaining('REDIS_URL'),
    });
  },
);
