import { EventEmitter } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { StoreUnavailable } from '../../../../../common/errors/errors.ts';
import { createLogger } from '../../../../../common/process/log.ts';
import { Outage, OutageLog, outageText } from '../../../../../common/redis/advice/outage.ts';
import type { RedisClient } from '../../../../../common/redis/client.ts';
import { refusedWith } from '../../../../../common/redis/connection.ts';

/** What Redis 6.2 answers to a script that met a refusal; a newer one answers with the refusal itself. */
const byScript = (refusal: string): string =>
  `ERR Error running script (call to f_45e87c07f6aff394093b73766a458691d0460655): @user_script:12: @user_script: 12: ${refusal}`;

const REPLICA = "READONLY You can't write against a read only replica.";
const FULL = "OOM command not allowed when used memory > 'maxmemory'.";
const AWAY = 'Redis is away';
const REFUSES = 'Redis refuses';

const failure = (answer: string): StoreUnavailable =>
  new StoreUnavailable('Redis', { cause: new Error(answer) });

/** `said`: level and text of each line so far. */
function logging(): { outages: OutageLog; said: unknown[] } {
  const said: unknown[] = [];
  const write = (line: string): void => {
    const { level, msg } = JSON.parse(line);
    said.push([level, msg]);
  };
  return { outages: new OutageLog(createLogger('info', 'api', { write })), said };
}

test.each([REPLICA, byScript(`-${REPLICA}`)])('a replica is known by its answer: %s', (answer) => {
  expect(refusedWith('READONLY', answer)).toBe(true);
  expect(refusedWith('OOM', answer)).toBe(false);
});

// What real servers answer is in test/integration/common/redis/advice/refusals.test.ts.
test.each([
  [REFUSES, byScript(`-${FULL}`), 'raise its maxmemory'],
  [REFUSES, byScript('Unknown Redis command called from Lua script '), 'rename-command'],
  [REFUSES, 'MISCONF Redis is configured to save RDB snapshots, but', '--save "" --appendonly no'],
  [REFUSES, 'LOADING Redis is loading the dataset in memory', '--save "" --appendonly no'],
  [REFUSES, 'CLUSTERDOWN Hash slot not served', 'missing nodes'],
  [REFUSES, 'ERR max number of clients reached', 'raise its maxclients'],
  [AWAY, 'getaddrinfo ENOTFOUND redis', 'start it, or correct its address'],
])('%s: %s', (event, reason, todo) => {
  expect(new Outage().heard(new Error(reason))).toEqual({
    level: event === AWAY ? 'warn' : 'error',
    event,
    reason,
    todo: expect.stringContaining(todo),
  });
});

test('where nothing more is known, the words of the connection stand alone', () => {
  const news = new Outage().heard(new Error('Socket timeout. Expecting data'));
  expect(news && outageText(news)).toBe('Redis is away (Socket timeout. Expecting data)');
});

test('a person is not shown the arguments of a command that Redis lacks: a password may be among them', () => {
  const reason = "ERR unknown command 'AUTH', with args beginning with: 'secret' ";
  const news = new Outage().heard(new Error(reason));
  expect(news && outageText(news)).toMatch(
    /^Redis refuses \(ERR unknown command 'AUTH'\): undo its rename-command/,
  );
});

test('an address with several sides that all refuse has a reason, too', () => {
  const sides = ['::1', '127.0.0.1'].map((side) => new Error(`connect ECONNREFUSED ${side}:6379`));
  expect(new Outage().heard(new AggregateError(sides))?.reason).toContain('ECONNREFUSED 127.0.0.1:6379');
});

test('what Redis refuses is said once, until it works again', () => {
  const { outages, said } = logging();
  for (const _ of [1, 2]) outages.failed(failure(FULL));
  const full = [50, REFUSES];
  expect(said).toEqual([full]);
  for (const _ of [1, 2]) outages.worked();
  outages.failed(failure(FULL));
  expect(said).toEqual([full, [30, 'Redis works again'], full]);
});

test('what no connection reports is said when it has lasted, once, and nothing of an outage that one has reported', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { outages, said } = logging();
  const down = failure("Cluster isn't ready and …");
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
  expect(said).toEqual([]);
  outages.worked();
  fail();
  outages.worked();
  expect(said).toEqual([
    [50, 'Redis carries nothing out'],
    [30, 'Redis works again'],
  ]);
  outages.onError('one')(new Error('ECONNREFUSED'));
  fail();
  expect(said).toHaveLength(3);
});

test('Redis is back when the last of several connections is', () => {
  const { outages, said } = logging();
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
  const away = [
    [40, AWAY],
    [50, REFUSES],
  ];
  expect(said).toEqual(away);
  other?.emit('ready');
  expect(said).toEqual([...away, [30, 'Redis is back']]);
  one?.emit('error', new Error('ECONNREFUSED'));
  expect(said.at(-1)).toEqual(away[0]);
});
