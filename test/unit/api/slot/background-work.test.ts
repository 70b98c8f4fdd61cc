import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BackgroundWork } from '../../../../api/slot/background-work.ts';
import { StoreUnavailable } from '../../../../common/errors/errors.ts';
import { createLogger } from '../../../../common/process/log.ts';

function withLog(): { background: BackgroundWork; lines: string[] } {
  const lines: string[] = [];
  const log = createLogger('info', 'api', { write: (line) => void lines.push(line) });
  return { background: new BackgroundWork(log), lines };
}

const away = new StoreUnavailable('Redis: Command timed out', { cause: new Error('Command timed out') });
test.each([
  ['a fault', new Error('refused'), { err: expect.objectContaining({ stack: expect.any(String) }) }],
  ['Redis away, without a stack', away, { reason: 'Redis: Command timed out' }],
])(
  'work that fails is a line that says whose it was, and a shutdown ends all the same: %s',
  async (_name, error, why) => {
    const { background, lines } = withLog();
    background.run({ sessionId: 'a' }, () => Promise.reject(error));
    background.add(Promise.reject(error));
    await background.quiet(0, 1_000);
    const line = { level: 40, sessionId: 'a', msg: 'cleaning up failed', ...why };
    expect(lines.map((text) => JSON.parse(text))).toEqual([expect.objectContaining(line)]);
    expect(lines.join('').includes('stack')).toBe('err' in why);
  },
);

test('work begins when this turn is over; a shutdown waits also for what begins meanwhile', async () => {
  const { background } = withLog();
  const done: string[] = [];
  background.run({}, async () => {
    done.push('first');
    background.run({}, async () => {
      await turn();
      done.push('second');
    });
  });
  expect(done).toEqual([]);
  await background.quiet(0, 1_000);
  expect(done).toEqual(['first', 'second']);
});
