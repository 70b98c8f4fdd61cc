import { expect, test } from 'vitest';
import { joined } from '../../../../client/audio/frames.ts';
import type { LiveOptions, LiveStream } from '../../../../client/long/live-options.ts';
import { LiveTranscription } from '../../../../client/long/live-transcription.ts';
import { AsrError, type StreamFinal } from '../../../../client/node.ts';
import type { StreamOptions } from '../../../../client/stream/stream-options.ts';
import { Deferred } from '../../../../common/time/deferred.ts';
import { isSame, noise, spoken } from '../../../support/audio/spoken.ts';
import { failure } from '../sessions.ts';

const BUSY = new AsrError('busy', 'somebody else is recognized');
const BROKEN = new AsrError('network', 'the connection broke');

/** Hears audio, and says how much: `s9.4` from a session of 9.4 s, `u9.4` from an upload. */
class HearingService {
  readonly sessions: HeardSession[] = [];
  readonly opened: string[] = [];
  readonly heard: Int16Array[] = [];
  /** What the next uploads and sessions meet. */
  readonly uploadFailures: unknown[] = [];
  readonly refusals: AsrError[] = [];
  news = new Deferred<void>();

  stream = ({ signal }: StreamOptions): LiveStream => {
    const session = new HeardSession(this, this.refusals.shift());
    signal?.addEventListener('abort', () => session.break(signal.reason));
    this.sessions.push(session);
    this.tell('session');
    return session;
  };

  recognize = async (samples: Int16Array) => {
    const failed = this.uploadFailures.shift();
    this.tell('upload');
    if (failed !== undefined) throw failed;
    this.heard.push(samples);
    return { text: `u${samples.length / 16_000} `, audio_ms: 1, inference_ms: 1 };
  };

  tell(what: string): void {
    this.opened.push(what);
    this.news.resolve();
    this.news = new Deferred();
  }

  async untilSessions(count: number): Promise<HeardSession> {
    while (this.sessions.length < count) await this.news.promise;
    const session = this.sessions[count - 1];
    if (session === undefined) throw new Error('no session');
    await session.ready;
    // Whoever waits for `ready` as well goes on first.
    await new Promise(setImmediate);
    return session;
  }
}

class HeardSession implements LiveStream {
  readonly ready: LiveStream['ready'];
  readonly #final = new Deferred<StreamFinal>();
  readonly final = this.#final.promise;
  readonly heard: Int16Array[] = [];
  readonly #service: HearingService;
  isHeldUp = false;

  constructor(service: HearingService, refusal?: AsrError) {
    this.#service = service;
    this.ready = refusal ? Promise.reject(refusal) : Promise.resolve({ session_id: 'a', chunk_ms: 500 });
    this.ready.catch(() => {});
  }
  async send(samples: Int16Array): Promise<void> {
    this.heard.push(samples.slice());
  }
  end(): Promise<StreamFinal> {
    if (!this.isHeldUp) this.finish();
    return this.final;
  }
  finish(): void {
    const samples = joined(this.heard);
    this.#service.heard.push(samples);
    const text = `s${samples.length / 16_000} `;
    this.#final.resolve({ revision: 2, text, audio_ms: 1, finalize_ms: 1 });
  }
  close(): void {
    this.break(new DOMException('closed', 'AbortError'));
  }
  break(reason: unknown): void {
    this.#final.reject(reason);
  }
  async *[Symbol.asyncIterator]() {
    yield { revision: 1, text: '一' };
    await this.final;
  }
}

function startLive(options: LiveOptions = {}) {
  const service = new HearingService();
  return { service, live: new LiveTranscription(service, options) };
}

/** 9.4 s with a pause at the end, which ends a piece. */
const PIECE = joined([noise(0.6), spoken(8.4), noise(0.4)]);
/** A session begins with so much. */
const START = PIECE.subarray(0, 16_000);
const REST = PIECE.subarray(16_000);

test('one session after another, each to its pause; between them the slot is free for 0.7 s', async () => {
  const partials: string[] = [];
  const { service, live } = startLive({ onPartial: (text) => partials.push(text) });
  live.push(START);
  const first = await service.untilSessions(1);
  first.isHeldUp = true;
  live.push(REST);
  live.push(START.subarray(0, 8_000));
  expect(live.waitingMs).toBe(500);
  await new Promise(setImmediate);
  first.finish();
  const freeFromMs = performance.now();
  await service.untilSessions(2);
  expect(performance.now() - freeFromMs).toBeGreaterThan(650);
  live.push(PIECE.subarray(8_000, 80_000));
  expect(await live.end()).toEqual({
    ...{ text: 's9.4 s5 ', audio_ms: 14_400, inference_ms: 0 },
    pieces: [
      { text: 's9.4 ', start_ms: 500, end_ms: 9_100 },
      { text: 's5 ', start_ms: 9_900, end_ms: 14_400 },
    ],
  });
  expect(isSame(joined(service.heard), joined([PIECE, PIECE.subarray(0, 80_000)]))).toBe(true);
  expect(partials).toEqual(['一', '一']);
});

test.for([BROKEN, new TypeError('this platform has no WebSocket')])(
  'a session that breaks (%s): its piece goes as an upload, from its first sample on',
  async (broken) => {
    const failures: string[] = [];
    const { service, live } = startLive({ onStreamFailure: ({ code }) => failures.push(code) });
    live.push(START);
    const session = await service.untilSessions(1);
    live.push(REST.subarray(0, 50_000));
    session.break(broken);
    await new Promise(setImmediate);
    expect(live.waitingMs).toBe(4_125);
    live.push(REST.subarray(50_000));
    expect((await live.end()).text).toBe('u9.4 ');
    expect(isSame(joined(service.heard), PIECE)).toBe(true);
    expect(failures).toEqual(['network']);
  },
);

test('a session that broke behind its last sample, before its text came: the same', async () => {
  const { service, live } = startLive();
  live.push(START);
  const session = await service.untilSessions(1);
  session.isHeldUp = true;
  live.push(REST);
  await new Promise(setImmediate);
  session.break(BROKEN);
  expect((await live.end()).text).toBe('u9.4 ');
});

test('cut at 14.8 s at a pause further back: its session has heard too much, so the piece is uploaded', async () => {
  const audio = joined([noise(0.6), spoken(6.4), noise(0.3), spoken(9)]);
  const { service, live } = startLive();
  live.push(audio.subarray(0, 16_000));
  await service.untilSessions(1);
  live.push(audio.subarray(16_000));
  expect((await live.end()).text).toBe('u7.15 u9.15 ');
  expect(isSame(joined(service.heard), audio)).toBe(true);
});

test('what waits longer than two seconds goes as uploads, then a session begins again', async () => {
  const { service, live } = startLive();
  live.push(joined([PIECE, START]));
  await service.untilSessions(1);
  live.push(REST);
  expect((await live.end()).text).toBe('u9.4 s9.4 ');
});

test('busy while somebody speaks: the audio is kept, and the piece is uploaded as often as it takes', async () => {
  const { service, live } = startLive();
  service.refusals.push(BUSY);
  service.uploadFailures.push(BUSY, BROKEN);
  live.push(START);
  await expect(service.untilSessions(1)).rejects.toBe(BUSY);
  live.push(REST);
  expect((await live.end()).text).toBe('u9.4 ');
  expect(service.opened).toEqual(['session', 'upload', 'upload', 'upload']);
});

test('a wrong token is told at once, an upload that fails for good with what was recognized', async () => {
  const refused = startLive();
  refused.service.refusals.push(new AsrError('unauthorized', 'no'));
  refused.live.push(START);
  expect(await failure(refused.live.result)).toMatchObject({ code: 'unauthorized' });

  const { service, live } = startLive();
  service.uploadFailures.push(undefined, new AsrError('inference_failed', 'the model'));
  live.push(joined([PIECE, PIECE]));
  const error = await failure(live.result);
  expect(error).toMatchObject({ code: 'inference_failed', recognized: { text: 'u9.4 ', audio_ms: 9_400 } });
});

test('five minutes that wait are the end, with all text so far', async () => {
  const { service, live } = startLive();
  live.push(PIECE);
  for await (const _ of live) break;
  let refusals = 0;
  const refused = new Deferred<void>();
  service.recognize = () => {
    if (refusals === 1) refused.resolve();
    refusals += 1;
    return new Promise((_, reject) => setTimeout(reject, 50, BUSY));
  };
  const minute = noise(60);
  for (let minutes = 0; minutes < 5; minutes += 1) live.push(minute);
  await refused.promise;
  expect(live.stopped.aborted).toBe(false);
  live.push(noise(0.1));
  expect(await failure(live.result)).toMatchObject({
    ...{ code: 'busy', recognized: { text: 'u9.4 ' } },
    message: '5 minutes of audio wait for the service, more are not kept: somebody else is recognized',
  });
});

test('a source that fails: what came is recognized first', async () => {
  const { service, live } = startLive();
  live.push(START);
  await service.untilSessions(1);
  live.fail(new AsrError('invalid_format', 'cut off'));
  const error = await failure(live.result);
  expect(error).toMatchObject({ code: 'invalid_format', recognized: { text: 's1 ' } });
});

test('an abort ends it, and the session with it', async () => {
  const stop = new AbortController();
  const { service, live } = startLive({ signal: stop.signal });
  live.push(START);
  const session = await service.untilSessions(1);
  stop.abort();
  await expect(live.result).rejects.toBe(stop.signal.reason);
  await expect(session.final).rejects.toMatchObject({ name: 'AbortError' });
});

test('no audio at all', async () => {
  expect(await failure(startLive().live.end())).toMatchObject({ code: 'empty_audio' });
});
