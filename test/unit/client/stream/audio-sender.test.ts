import { expect, test } from 'vitest';
import { AudioSender } from '../../../../client/stream/audio-sender.ts';
import { Pace } from '../../../../client/stream/pace.ts';

test('at most 64,000 bytes wait in the connection', async () => {
  let bufferedBytes = 0;
  let mostBytes = 0;
  let sentBytes = 0;
  /** A slow connection: each look at it finds 2,000 bytes less. */
  const sink = {
    get bufferedBytes() {
      bufferedBytes = Math.max(0, bufferedBytes - 2_000);
      return bufferedBytes;
    },
    send(frame: string | Uint8Array) {
      sentBytes += frame.length;
      bufferedBytes += frame.length;
      mostBytes = Math.max(mostBytes, bufferedBytes);
    },
  };
  const unlimited = new Pace('live');
  unlimited.take = () => 0;
  const sender = new AudioSender(Promise.resolve(sink), unlimited, new AbortController().signal);
  await sender.push(new Int16Array(120_000));
  expect(sentBytes).toBe(240_000);
  expect(mostBytes).toBeGreaterThan(60_000);
  expect(mostBytes).toBeLessThanOrEqual(64_000);
});

test('a recording of exactly 15 s is taken, in whatever pieces, and no sample more, which does not harm it', async () => {
  let sentBytes = 0;
  const sink = {
    bufferedBytes: 0,
    send(frame: string | Uint8Array) {
      sentBytes += frame.length;
    },
  };
  const unlimited = new Pace('live');
  unlimited.take = () => 0;
  const sender = new AudioSender(Promise.resolve(sink), unlimited, new AbortController().signal);
  await sender.push(new Int16Array(239_999));
  await expect(sender.push(new Int16Array(2))).rejects.toMatchObject({ code: 'audio_too_long' });
  await sender.push(new Int16Array(1));
  await expect(sender.push(new Int16Array(1))).rejects.toMatchObject({ code: 'audio_too_long' });
  await sender.flush();
  expect(sentBytes).toBe(480_000);
});

test.each([
  { what: 'for its time', waitMs: 60_000, bufferedBytes: 0 },
  { what: 'for the connection', waitMs: 0, bufferedBytes: 64_000 },
])('one that waits $what is stopped at once, and sends nothing more', async ({ waitMs, bufferedBytes }) => {
  const sent: unknown[] = [];
  const sink = { bufferedBytes, send: (frame: unknown) => sent.push(frame) };
  const pace = new Pace('live');
  pace.take = () => waitMs;
  const stop = new AbortController();
  const sender = new AudioSender(Promise.resolve(sink), pace, stop.signal);
  const waiting = sender.push(new Int16Array(1_600));
  setImmediate(() => stop.abort(new Error('enough')));
  await expect(waiting).rejects.toThrow('enough');
  sink.bufferedBytes = 0;
  await expect(sender.flush()).rejects.toThrow('enough');
  expect(sent).toEqual([]);
});

test.each([0, 60_000])('what comes after the stop is not sent, nor waits for its %d ms', async (waitMs) => {
  const sent: unknown[] = [];
  const sink = Promise.resolve({ bufferedBytes: 0, send: (frame: unknown) => sent.push(frame) });
  const pace = new Pace('live');
  pace.take = () => waitMs;
  const sender = new AudioSender(sink, pace, AbortSignal.abort(new Error('enough')));
  await expect(sender.push(new Int16Array(1_600))).rejects.toThrow('enough');
  expect(sent).toEqual([]);
});

test('real time: 100 ms a frame; after being held up, half a second is caught up, no more', () => {
  const pace = new Pace('real-time');
  const waits = [1_000, 1_000, 1_200, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000].map((nowMs) =>
    pace.take(3_200, nowMs),
  );
  expect(waits).toEqual([0, 100, 0, 0, 0, 0, 0, 0, 0, 100]);
});

test('live: one second at once, then twice as fast as it is spoken', () => {
  const pace = new Pace('live');
  const waits = Array.from({ length: 13 }, () => pace.take(3_200, 5_000));
  expect(waits).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50, 100]);
});
