import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { STREAM_TIMEOUTS } from '../../../../api/streams/stream-clocks.ts';
import { openStream, startApi } from '../../../support/service/api.ts';
import { TestService } from '../../../support/service/service.ts';

/** The clocks are shortened; which clock runs when is what is tested. */
const timeouts = { messageMs: 400, sessionMs: 1_000 };
let service: TestService;
beforeAll(async () => {
  service = await TestService.start({ streamTimeouts: timeouts });
});
afterEach(() => service.expectNothingLeft());
afterAll(() => service.stop());

test('the interface says about 10 s for messages and about 40 s for the session', () => {
  expect(STREAM_TIMEOUTS).toEqual({ messageMs: 10_000, sessionMs: 40_000 });
});

test('no first message → timeout, 1008', async () => {
  const connectingAt = performance.now();
  const client = await service.connect();
  expect(await client.message('error')).toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('start'),
  });
  expect(performance.now() - connectingAt).toBeGreaterThan(timeouts.messageMs * 0.9);
  expect(await client.closed()).toBe(1008);
});

test('the wait for ready is no gap, however late "start" came', async () => {
  const client = await service.connect();
  // What takes the slot waits so long; shorter than a command may.
  await service.redis.client.client('PAUSE', 1.5 * timeouts.messageMs, 'WRITE');
  client.start();
  await client.message('ready');
  client.end();
  expect(await client.message('final')).toMatchObject({ audio_ms: 0 });
  expect(await client.closed()).toBe(1000);
});

test.for([
  { what: 'nothing after ready', frames: 0 },
  { what: 'a frame and no more', frames: 1 },
])('$what is a gap → timeout, 1008: whoever says nothing has the slot for no longer', async ({ frames }) => {
  const client = await service.ready();
  for (let frame = 0; frame < frames; frame += 1) client.audio(Buffer.alloc(3_200));
  expect(await client.message('error')).toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('no message'),
  });
  expect(await client.closed()).toBe(1008);
});

test('a replica that stood still itself reads first what has come meanwhile', async () => {
  const client = await service.ready();
  client.audio(Buffer.alloc(3_200));
  const stillUntilMs = performance.now() + 1.5 * timeouts.messageMs;
  while (performance.now() < stillUntilMs);
  client.end();
  expect(await client.message('final')).toMatchObject({ audio_ms: 100 });
  expect(await client.closed()).toBe(1000);
});

test('messages keep the gap away, the whole session ends all the same', async () => {
  const client = await service.ready();
  const readyAt = performance.now();
  const sending = setInterval(() => client.audio(Buffer.alloc(2)), 100);
  const error = await client.message('error');
  clearInterval(sending);
  expect(error).toMatchObject({ code: 'timeout', message: expect.stringContaining('1 s') });
  expect(performance.now() - readyAt).toBeGreaterThan(timeouts.sessionMs * 0.9);
  expect(await client.closed()).toBe(1008);
});

test('the wait for the final is no gap, but the session clock runs on', async () => {
  const gate = service.recognizer.hold();
  const client = await service.ready();
  client.audio(Buffer.alloc(3_200));
  client.end();
  const endedAt = performance.now();
  await gate.entered;
  expect(await client.message('error')).toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('the session is over'),
  });
  expect(performance.now() - endedAt).toBeGreaterThan(timeouts.messageMs);
  gate.release();
});

describe('where no process has claimed the session', () => {
  const heartbeat = { id: 'restarted', host: 'host', pid: 1 };
  async function waiting(prefix: string) {
    const env = { ASR_KEY_PREFIX: prefix };
    const api = await startApi(service.redis.url, env, {
      streamTimeouts: { messageMs: 400, sessionMs: 1_200 },
    });
    onTestFinished(() => api.stop());
    await api.services.readiness.beat({ ...heartbeat, state: 'ready' });
    const client = await openStream(api.wsUrl);
    return { api, client };
  }

  test('the session clock says not_ready while one loads its model: design, "never timeout"', async () => {
    const { api, client } = await waiting('{loading}');
    await api.services.readiness.beat({ ...heartbeat, state: 'loading' });
    client.end();
    expect(await client.message('error')).toMatchObject({ code: 'not_ready' });
    expect(await client.closed()).toBe(1011);
  });

  test('a recording sent at once is overloaded: interface, "sending a whole recording at once"', async () => {
    const { client } = await waiting('{burst}');
    for (let frame = 0; frame <= 20; frame += 1) client.audio(Buffer.alloc(3_200));
    expect(await client.message('error')).toMatchObject({ code: 'overloaded' });
    expect(await client.closed()).toBe(1008);
  });
});
