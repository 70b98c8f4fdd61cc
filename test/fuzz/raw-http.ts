import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { servedFuzz } from './fuzz.ts';
import { assertDocumented, parseAnswers } from './http-answers.ts';
import { requestText } from './http-requests.ts';

/**
 * Whatever comes in, what goes out is HTTP with the interface's bodies, and the connection ends when the
 * client's side has ended.
 */
export const rawHttp = servedFuzz(
  'bytes of any kind on the HTTP port',
  400,
  fc.tuple(requestText, fc.nat({ max: 60 })),
  async ([text, firstPiece], service) => {
    const bytes = Buffer.from(text, 'latin1');
    const connection = await service.connect();
    connection.write(bytes.subarray(0, firstPiece));
    await nextTurn();
    connection.write(bytes.subarray(firstPiece));
    await Promise.race([connection.answersUntil(1), service.roundTrip().then(() => service.roundTrip())]);
    connection.end();
    await connection.untilClosed();
    const { answers, rest } = parseAnswers(connection.received);
    for (const answer of answers) assertDocumented(answer);
    assert.equal(rest.length, 0, `half an answer: ${rest.toString('latin1')}`);
  },
);
