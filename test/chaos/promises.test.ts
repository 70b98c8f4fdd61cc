import { expect, test } from 'vitest';
import type { Outcome, Pace } from './clients.ts';
import { callsAtOnce, type ModelCall, wrongWith } from './promises.ts';

const text = (heard: string): Outcome => ({ kind: 'text', text: heard });
const error = (code: string): Outcome => ({ kind: 'error', code });
const closed: Outcome = { kind: 'closed', how: 'ECONNRESET' };

test.each<[string, Outcome, { pace?: Pace; isAlone?: boolean; hit?: string[] }, boolean]>([
  ['the text of an undisturbed run', text('好'), {}, true],
  ['another text', text('你'), { hit: ['redis'] }, false],
  ['busy beside another client', error('busy'), {}, true],
  ['busy though nobody else is there', error('busy'), { isAlone: true }, false],
  ['busy behind a replica that was killed', error('busy'), { isAlone: true, hit: ['api 1'] }, true],
  ['not_ready without a cause', error('not_ready'), {}, false],
  ['not_ready because another replica was killed', error('not_ready'), { hit: ['api 1'] }, false],
  ['not_ready without Redis', error('not_ready'), { hit: ['redis'] }, true],
  ['inference_failed behind a kill', error('inference_failed'), { hit: ['inference 1'] }, true],
  [
    'inference_failed because its own replica stood still',
    error('inference_failed'),
    { hit: ['api 0'] },
    true,
  ],
  ['overloaded in real time', error('overloaded'), { pace: 'in real time' }, false],
  ['overloaded in a burst', error('overloaded'), { pace: 'in a burst' }, true],
  [
    'overloaded beside hostile clients',
    error('overloaded'),
    { pace: 'in real time', hit: ['attack on api 1'] },
    true,
  ],
  ['no answer of one that is attacked', closed, { hit: ['attack on api 0'] }, false],
  ['another text of one that is attacked', text('你'), { hit: ['attack on api 0'] }, false],
  ['a timeout', error('timeout'), { hit: ['redis', 'inference 0'] }, false],
  ['no answer of a replica that was killed', closed, { hit: ['api 0'] }, true],
  ['no answer of one that was not', closed, { hit: ['api 1', 'redis'] }, false],
])('%s', (_, outcome, { pace, isAlone = false, hit = [] }, isRight) => {
  const clip = { seconds: 5, pcm: Buffer.alloc(160_000), wav: Buffer.alloc(0) };
  const wrong = wrongWith({ clip, pace, api: 'api 0', isAlone }, outcome, new Set(hit), '好');
  expect(wrong === undefined).toBe(isRight);
});

const call = (process: string, fence: number, beganAtMs: number, endedAtMs: number): ModelCall => ({
  ...{ process, fence, beganAtMs, endedAtMs, stoodStillAtMs: undefined },
});

test.each<[string, ModelCall[], boolean]>([
  ['one after the other', [call('a', 1, 0, 5), call('b', 2, 5, 9)], true],
  ['one in the other', [call('a', 1, 0, 5), call('b', 2, 4, 9)], false],
  [
    'one in the other that stood still',
    [{ ...call('a', 1, 0, 9), stoodStillAtMs: 3 }, call('b', 2, 4, 5)],
    true,
  ],
  [
    'one in the other before it stood still',
    [{ ...call('a', 1, 0, 9), stoodStillAtMs: 5 }, call('b', 2, 4, 6)],
    false,
  ],
  ['work that was over', [call('a', 2, 0, 5), call('b', 1, 6, 9)], false],
  ['the same work again', [call('a', 1, 0, 5), call('b', 1, 6, 9)], true],
])('model calls: %s', (_, calls, isRight) => {
  expect(callsAtOnce(calls) === undefined).toBe(isRight);
});
