import { afterAll, beforeAll, expect, test } from 'vitest';
import { wavFile } from '../support/audio/wav.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { eventually } from '../support/machine/eventually.ts';
import { AUTHORIZED, upload } from '../support/service/api.ts';
import { untilReady } from '../support/service/real-service.ts';
import { scriptedPcm } from '../support/service/scripted-recognizer.ts';
import { TestService } from '../support/service/service.ts';
import { Queue } from './queue.ts';

const WAV = wavFile(scriptedPcm(1));

// test/docker asks containers; this needs no engine.
let service: TestService;
let queue: Queue;

beforeAll(async () => {
  service = await TestService.start();
  queue = await Queue.start([service.api.origin]);
  await untilReady(queue.origin);
});

afterAll(async () => {
  await queue?.stop();
  await service?.stop();
});

const readiness = () => fetch(`${queue.origin}/readyz`, { headers: AUTHORIZED });

async function untilWaiting(count: number): Promise<void> {
  const waiting = async (): Promise<number> => {
    const metrics = await (await fetch(`http://${queue.target}/metrics`)).text();
    return Number(/haproxy_backend_current_queue{proxy="recognition"} (\d+)/.exec(metrics)?.[1]);
  };
  await eventually(async () => expect(await waiting()).toBe(count));
}

test('uploads at once are recognized one after the other', async () => {
  const answers = await Promise.all(Array.from({ length: 15 }, () => upload(queue.origin, WAV)));
  expect(answers.map(({ status }) => status)).toEqual(Array(15).fill(200));
});

test('a stream goes in front of uploads, and who hangs up leaves; Asr-Free says what is free', async () => {
  expect((await readiness()).headers.get('asr-free')).toBe('1');
  const gate = service.recognizer.hold();
  const first = upload(queue.origin, WAV);
  await gate.entered;
  const leaving = new AbortController();
  const gone = upload(queue.origin, WAV, AUTHORIZED, leaving.signal).catch(String);
  await untilWaiting(1);
  const order: string[] = [];
  const second = upload(queue.origin, WAV).then(() => order.push('upload'));
  await untilWaiting(2);
  const stream = StreamClient.connect(`${queue.origin.replace('http', 'ws')}/ws/asr`, AUTHORIZED);
  await untilWaiting(3);
  expect((await readiness()).headers.get('asr-free')).toBe('0');
  leaving.abort();
  expect(await gone).toMatch(/abort/i);
  await untilWaiting(2);
  gate.release();
  expect((await first).status).toBe(200);
  const client = await stream;
  client.start();
  await client.message('ready');
  client.end();
  await client.message('final').then(() => order.push('stream'));
  await second;
  expect(order).toEqual(['stream', 'upload']);
});

test('an address has 20 places; more is busy in the interface’s form', async () => {
  const gate = service.recognizer.hold();
  const answers = Array.from({ length: 22 }, () => upload(queue.origin, WAV));
  const early = await Promise.race(answers);
  expect(early).toMatchObject({ status: 429, body: { error: 'busy' } });
  expect(early.headers.get('retry-after')).toBe('2');
  gate.release();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
});

test('with no service, what HAProxy itself says is not_ready', async () => {
  const empty = await Queue.start(['http://127.0.0.1:1']);
  try {
    const refusal = await upload(empty.origin, WAV);
    expect(refusal).toMatchObject({ status: 503, body: { error: 'not_ready' } });
    expect(refusal.headers.get('retry-after')).toBe('2');
    const ready = await fetch(`${empty.origin}/readyz`, { headers: AUTHORIZED });
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'loading', busy: false }]);
  } finally {
    await empty.stop();
  }
});
