import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Cleanups } from '../../../api/cleanups.ts';
import { StoreUnavailable } from '../../../common/errors.ts';
import { createLogger } from '../../../common/log.ts';

function cleanupsWithLog(): { cleanups: Cleanups; lines: string[] } {
  const lines: string[] = [];
  const log = createLogger('info', 'api', { write: (line) => void lines.push(line) });
  return { cleanups: new Cleanups(log), lines };
}

test('one that fails is a line that says whose it was, and a shutdown ends all the same', async () => {
  const { cleanups, lines } = cleanupsWithLog();
  const fail = async (): Promise<void> => {
    throw new Error('refused');
  };
  cleanups.now({ sessionId: 'a' }, fail);
  cleanups.behindAnswer({ requestId: 'b' }, fail);
  cleanups.endOf(fail());
  await cleanups.finished();
  const shown = (of: object) => ({ level: 40, msg: 'cleaning up failed', ...of });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining(shown({ sessionId: 'a' })),
    expect.objectContaining(shown({ requestId: 'b' })),
  ]);
});

test('one that Redis did not answer in time is a line with the reason, without a stack', async () => {
  const { cleanups, lines } = cleanupsWithLog();
  cleanups.now({ sessionId: 'a' }, async () => {
    throw new StoreUnavailable('Redis: Command timed out', { cause: new Error('Command timed out') });
  });
  await cleanups.finished();
  const line = { level: 40, sessionId: 'a', reason: 'Redis: Command timed out', msg: 'cleaning up failed' };
  expect(lines.map((text) => JSON.parse(text))).toEqual([expect.objectContaining(line)]);
  expect(lines.join('')).not.toContain('stack');
});

test('one behind an answer begins when this turn is over; a shutdown waits also for those that begin meanwhile', async () => {
  const { cleanups } = cleanupsWithLog();
  const done: string[] = [];
  cleanups.behindAnswer({}, async () => {
    done.push('first');
    cleanups.now({}, async () => {
      await turn();
      done.push('second');
    });
  });
  expect(done).toEqual([]);
  await cleanups.finished();
  expect(done).toEqual(['first', 'second']);
});
