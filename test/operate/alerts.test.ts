import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { slotHolder } from '../../common/slot/slot.ts';
import { writeFailingModel } from '../onnx/echo.ts';
import { writeHangingModel } from '../onnx/hanging.ts';
import { fixture } from '../support/audio/fixtures.ts';
import { wavFile } from '../support/audio/wav.ts';
import { openStream, upload } from '../support/service/api.ts';
import { sendPaced, untilReady } from '../support/service/real-service.ts';
import { scriptedPcm } from '../support/service/scripted-recognizer.ts';
import { temporaryFolder } from '../support/tools/tool.ts';
import { during, neverEnd, otherVersion, stutter } from './faults.ts';
import { type Member, MonitoredService, until } from './monitored-service.ts';
import { RULES } from './prometheus.ts';
import { Queue } from './queue.ts';

/** By which every time of the rules is shorter here: an hour is two minutes, a scrape comes every half second. */
const FACTOR = 30;
const TEST_MS = 150_000;
/** What the slow model takes for a second of speech. */
const SLOW_MS = 2_000;
const SPEECH = fixture('e00');
const SHORT_WAV = wavFile(scriptedPcm(0.3));

// The tests follow one another in one service. Each leaves it well, with the processes that it made.
const folder = temporaryFolder();
const startedAtMs = performance.now();
let service: MonitoredService;
/** Of another version, with files of its own. */
let otherApi: Member;
/** Where there are several, behind a queue. */
const raisedByServices: string[] = [];

beforeAll(async () => {
  service = await MonitoredService.start(FACTOR);
  for (let count = 0; count < 3; count += 1) await service.addApi();
  await service.addInference();
  await service.addInference();
  await untilReady(anApi().origin);
  // Before it had found anybody, there was AsrApiGone.
  await until(async () => expect(await service.prometheus.values('count(up == 1)')).toEqual([5]));
  await until(async () => expect(await service.prometheus.values('ALERTS')).toEqual([]));
});

afterAll(async () => {
  await service?.stop();
  folder.remove();
});

function first(members: readonly Member[]): Member {
  const [member] = members;
  if (!member) throw new Error('no such process is left');
  return member;
}

const anApi = (): Member => first(service.members('api'));
const anInference = (): Member => first(service.members('inference'));
const uploadSome = (): Promise<unknown> => upload(anApi().origin, SHORT_WAV);

async function streamSpeech(): Promise<void> {
  const client = await openStream(anApi().wsUrl);
  await sendPaced(client, SPEECH.pcm, 3_200, 50);
  client.end();
  await client.message('final');
}

/** The only process that recognizes is one with this model. */
async function replaceInference(model?: string): Promise<void> {
  const old = service.members('inference');
  await service.addInference(model);
  for (const member of old) await service.kill(member);
}

/** @returns what it takes for a second of speech, in ms */
async function slowModel(matrixSize: number): Promise<number> {
  const model = join(folder.path, `slow-${matrixSize}`);
  mkdirSync(model);
  writeHangingModel(model, matrixSize);
  await replaceInference(model);
  const { body } = await upload(anApi().origin, wavFile(scriptedPcm(1)));
  return Number(body['inference_ms']);
}

test('a healthy service raises none, nor does a rolling restart', { timeout: TEST_MS }, async () => {
  // The new processes first, as rolling-restart.sh does. One replica gets another version: half of an upgrade.
  const [oldInference, oldApi] = [anInference(), anApi()];
  const healthyAtMs = performance.now();
  const longest = sleep((20 * 60_000) / FACTOR);
  const turns = [uploadSome, streamSpeech];
  let turn = 0;
  const load = during(longest, () => turns[turn++ % turns.length]?.() ?? Promise.resolve());
  await service.addInference();
  await service.retire(oldInference);
  otherApi = await service.addApi(otherVersion(folder.path));
  await service.retire(oldApi);
  await load;
  expect(await service.prometheus.values('count(up == 1)')).toEqual([5]);
  expect(await service.prometheus.values('count(up == 0)')).toEqual([]);
  expect(await service.prometheus.raisedSince(healthyAtMs)).toEqual([]);
});

test('AsrReplicaLost, AsrRecognizerLost: one of each has ended', { timeout: TEST_MS }, async () => {
  const lostAtMs = performance.now();
  await service.kill(anApi());
  await service.kill(anInference());
  await service.raised('AsrReplicaLost', lostAtMs);
  await service.raised('AsrRecognizerLost', lostAtMs);
});

test('AsrTakeover: an inference process ends in a stream', { timeout: TEST_MS }, async () => {
  const dying = anInference();
  const client = await openStream(anApi().wsUrl);
  const half = 16 * 3_200;
  await sendPaced(client, SPEECH.pcm.subarray(0, half), 3_200, 50);
  await service.addInference();
  await service.kill(dying);
  await sendPaced(client, SPEECH.pcm.subarray(half), 3_200, 50);
  client.end();
  await client.message('final');
  await service.raised('AsrTakeover');
});

test('AsrNotReady: uploads that never end take the memory of the others', { timeout: TEST_MS }, async () => {
  expect(await service.prometheus.values('ALERTS{alertname="AsrNotReady"}')).toEqual([]);
  const small = await service.addApi(undefined, {
    ASR_UPLOAD_MEMORY_MB: '1',
    ASR_UPLOAD_TIMEOUT_MS: '120000',
  });
  const raised = during(service.raised('AsrNotReady'), () => upload(small.origin, SHORT_WAV));
  await neverEnd(small, raised);
  await service.kill(small);
});

test('AsrCrashLoop: a replica dies again and again', { timeout: TEST_MS }, async () => {
  let crashing = anApi();
  const crash = async (): Promise<void> => {
    crashing = await service.crash(crashing);
  };
  // A scrape must meet each process.
  await during(service.raised('AsrCrashLoop'), crash, 700);
});

test('AsrServerError: files are gone while the service runs', { timeout: TEST_MS }, async () => {
  rmSync(join(folder.path, 'page'));
  await during(service.raised('AsrServerError'), () => fetch(otherApi.origin));
});

test('AsrSlotStuck: a slot is renewed and not given back', { timeout: TEST_MS }, async () => {
  const { client } = service.redis;
  const since = new Date(Date.now() - 100_000);
  const holder = slotHolder({ id: 'stuck', via: 'http', replica: 'web:1', since: since.toISOString() });
  await client.set('{asr}:fence', `${since.getTime()}000`);
  await client.set('{asr}:slot', holder);
  await service.raised('AsrSlotStuck');
  await client.del('{asr}:slot');
});

test('AsrEventLoopLate: a process gets too little of its machine', { timeout: TEST_MS }, async () => {
  await stutter(service.raised('AsrEventLoopLate'), anInference(), 200, 150);
});

test('AsrHeartbeatLate: it reports every 2.8 s', { timeout: TEST_MS }, async () => {
  await stutter(service.raised('AsrHeartbeatLate'), anInference(), 2_500, 300);
});

test('AsrProcessGone, AsrNoRecognizer, AsrNotReady: it hangs', { timeout: TEST_MS }, async () => {
  const { process } = anInference();
  process.kill('SIGSTOP');
  const raised = ['AsrProcessGone', 'AsrNoRecognizer', 'AsrNotReady'].map((alert) => service.raised(alert));
  await during(Promise.all(raised), uploadSome);
  process.kill('SIGCONT');
});

test('AsrModelSlow, AsrFinalLate, AsrOverloaded, AsrBusy, AsrRedisSlow: all is slow', {
  timeout: TEST_MS,
}, async () => {
  // The first one shows how fast this machine is.
  const trialSize = 500;
  const trialMs = await slowModel(trialSize);
  await slowModel(Math.round(trialSize * Math.cbrt(SLOW_MS / trialMs)));
  service.relay.slow(60);
  // Over two seconds wait for the model at once.
  for (let count = 0; count < 3; count += 1) {
    // The model's call for the one before may still be running.
    const client = await until(() => openStream(anApi().wsUrl));
    client.send(scriptedPcm(6));
    await expect(client.message('final')).rejects.toThrow('overloaded');
  }
  const stream = async (): Promise<void> => {
    const client = await openStream(anApi().wsUrl);
    client.send(scriptedPcm(1.8));
    client.end();
    await during(client.message('final'), uploadSome);
  };
  const alerts = ['AsrModelSlow', 'AsrFinalLate', 'AsrOverloaded', 'AsrBusy', 'AsrRedisSlow'];
  await during(Promise.all(alerts.map((alert) => service.raised(alert))), stream);
  service.relay.slow(0);
});

test('AsrModelFails: its run throws', { timeout: TEST_MS }, async () => {
  const model = join(folder.path, 'failing');
  writeFailingModel(model, 16);
  await replaceInference(model);
  expect(await upload(anApi().origin, SPEECH.wav)).toMatchObject({ status: 500 });
  await service.raised('AsrModelFails');
});

test('AsrRedisFull at 90 %; full it is AsrRedisAway and AsrNotReady', { timeout: TEST_MS }, async () => {
  await replaceInference();
  const { client } = service.redis;
  await client.setrange('of-another-program', 20_000_000, 'x');
  const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
  await client.config('SET', 'maxmemory', String(Math.round(used / 0.95)));
  await service.raised('AsrRedisFull');

  const fullAtMs = performance.now();
  await client.config('SET', 'maxmemory', '1mb');
  const raised = ['AsrRedisAway', 'AsrNotReady'].map((alert) => service.raised(alert, fullAtMs));
  await during(Promise.all(raised), streamSpeech);
  expect(await service.prometheus.raisedSince(fullAtMs)).not.toContain('AsrNoRecognizer');
  await client.del('of-another-program');
  await client.config('SET', 'maxmemory', '0');
});

test('AsrVersionsDiffer after an hour; what was lost is forgotten by then', {
  timeout: TEST_MS,
}, async () => {
  await service.raised('AsrVersionsDiffer', startedAtMs);
  const lost = 'ALERTS{alertname=~"AsrReplicaLost|AsrRecognizerLost"}';
  await until(async () => expect(await service.prometheus.values(lost)).toEqual([]));
});

test('AsrApiGone: no replica is left', { timeout: TEST_MS }, async () => {
  for (const member of service.members('api')) await service.kill(member);
  await service.raised('AsrApiGone');
});

test('AsrRedisAway while Redis says nothing, and no other cause', { timeout: TEST_MS }, async () => {
  // A command is given a second, and so the scrapes must come less often here.
  const patient = await MonitoredService.start(10);
  try {
    const { origin } = await patient.addApi();
    await patient.addInference();
    await untilReady(origin);
    await until(async () => expect(await patient.prometheus.values('asr_redis_up')).toEqual([1, 1]));
    const awayAtMs = performance.now();
    await patient.redis.pause();
    await patient.raised('AsrRedisAway', awayAtMs);
    expect(await patient.prometheus.raisedSince(awayAtMs)).toEqual(['AsrRedisAway']);
    await patient.redis.resume();
    await until(async () => expect(await patient.prometheus.values('ALERTS')).toEqual([]));
  } finally {
    await patient.stop();
  }
});

test('AsrServiceNotReady: one of two has no recognizer; AsrQueueLong: somebody waits at every look', {
  timeout: TEST_MS,
}, async () => {
  const services = await MonitoredService.start(FACTOR);
  const one = await services.addApi();
  // Its metrics are at another address, as another container's are.
  const other = await services.addApi(undefined, {
    ...{ ASR_KEY_PREFIX: '{asr-2}', ASR_ADMIN_HOST: '127.0.0.2' },
  });
  const queue = await Queue.start([one.origin, other.origin]);
  try {
    await services.addInference();
    services.prometheus.targets.queue.add(queue.target);
    await services.raised('AsrServiceNotReady');
    expect(await services.prometheus.values('ALERTS{service="127.0.0.2"}')).toEqual([1]);
    await untilReady(queue.origin);
    const stream = await openStream(`${queue.origin.replace('http', 'ws')}/ws/asr`);
    const waiting = upload(queue.origin, SHORT_WAV);
    // Without a message for 10 s it would end.
    await during(services.raised('AsrQueueLong'), async () => stream.audio(Buffer.alloc(2)), 4_000);
    stream.end();
    expect(await waiting).toMatchObject({ status: 200 });
    raisedByServices.push('AsrQueueLong', 'AsrServiceNotReady');
  } finally {
    await queue.stop();
    await services.stop();
  }
});

test('each alert of the rules was raised', async () => {
  const names = readFileSync(RULES, 'utf8').matchAll(/- alert: (\w+)/g);
  const raised = await service.prometheus.raisedSince(startedAtMs);
  expect([...raised, ...raisedByServices].sort()).toEqual(Array.from(names, ([, name]) => name).sort());
});
