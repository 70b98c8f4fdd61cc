import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CHUNK_BYTES } from '../../../../common/audio/limits.ts';
import { scriptedPcm, scriptedText } from '../../../support/service/scripted-recognizer.ts';
import { TestService } from '../../../support/service/service.ts';
import { TestSession } from '../../../support/service/test-session.ts';

/** Streams with a family whose updates look at all audio so far. */
let service: TestService;
beforeAll(async () => {
  service = await TestService.start({
    prepare: (recognizer) => {
      recognizer.isReDecoding = true;
    },
  });
});
afterEach(async () => {
  await service.expectNothingLeft();
  service.recognizer.calls.length = 0;
});
afterAll(() => service.stop());

describe('an update', () => {
  test('takes in all that came during the one before', async () => {
    const pcm = scriptedPcm(1.9);
    const gate = service.recognizer.hold();
    const session = await TestSession.open(service.redis);
    await session.send(pcm.subarray(0, CHUNK_BYTES));
    await gate.entered;
    const next = service.recognizer.hold();
    await session.send(pcm.subarray(CHUNK_BYTES));
    gate.release();
    expect(await next.entered).toEqual({ kind: 'accept', bytes: pcm.length - CHUNK_BYTES });
    // Before it has ended: its audio waits no more.
    await session.until('progress', ({ takenBytes }) => takenBytes === pcm.length);
    next.release();
    await session.producer.end();
    const final = await session.until('final');
    expect(final).toEqual({
      kind: 'final',
      takenBytes: pcm.length,
      revision: session.of('partial').length + 1,
      text: scriptedText(pcm),
    });
    await session.close();
  });

  test('at the end is one alone, whatever waits', async () => {
    const pcm = scriptedPcm(2.5);
    const gate = service.recognizer.hold();
    const session = await TestSession.open(service.redis);
    await session.send(pcm.subarray(0, CHUNK_BYTES));
    await gate.entered;
    await session.send(pcm.subarray(CHUNK_BYTES));
    await session.producer.end();
    gate.release();
    expect(await session.until('final')).toMatchObject({ text: scriptedText(pcm) });
    expect(service.recognizer.calls).toEqual([
      { kind: 'accept', bytes: CHUNK_BYTES },
      { kind: 'finish', bytes: pcm.length - CHUNK_BYTES },
    ]);
    await session.close();
  });
});

test('a client in real time is not told overloaded while an update takes 1.4 s', {
  timeout: 40_000,
}, async () => {
  service.recognizer.callMs = 1_400;
  const pcm = scriptedPcm(6);
  const client = await service.ready();
  const startedAtMs = performance.now();
  for (let start = 0; start < pcm.length; start += 3_200) {
    client.audio(pcm.subarray(start, start + 3_200));
    await delay(Math.max(0, startedAtMs + (start / 3_200 + 1) * 100 - performance.now()));
  }
  service.recognizer.callMs = 0;
  client.end();
  expect(await client.message('final')).toMatchObject({ text: scriptedText(pcm), audio_ms: 6_000 });
  expect(await client.closed()).toBe(1000);
  const updates = service.recognizer.calls.filter(({ kind }) => kind === 'accept');
  // Back to back, each with the 1.4 s that came during the one before.
  expect(updates.length).toBeGreaterThanOrEqual(3);
  expect(updates.length).toBeLessThanOrEqual(5);
});
