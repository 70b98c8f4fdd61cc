import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { readPcm16 } from '../../common/audio/pcm16.ts';
import { packageRoot } from '../../common/process/package-root.ts';
import { ReadinessStore } from '../../common/readiness/readiness.ts';
import { RedisKeys } from '../../common/store/keys.ts';
import { writeSmallStreamingParaformer } from '../onnx/paraformer-folder.ts';
import { fixture } from '../support/audio/fixtures.ts';
import { wavFile } from '../support/audio/wav.ts';
import { testFolder } from '../support/machine/folders.ts';
import { openStream, upload } from '../support/service/api.ts';
import { type ProcessUnderTest, ScriptedProcess } from '../support/service/inference-process.ts';
import { nothingLeft } from '../support/service/nothing-left.ts';
import {
  type RealService,
  sendPaced,
  startInferenceProcess,
  startRealService,
  untilReady,
} from '../support/service/real-service.ts';
import { scriptedPcm, scriptedText } from '../support/service/scripted-recognizer.ts';

/** kill -9 on the inference process while it recognizes; a new one is started, as the supervisor does. */
let service: RealService;
let inference: ProcessUnderTest;

beforeAll(async () => {
  service = await startRealService();
  inference = service.inference;
}, 40_000);
afterEach(() => nothingLeft(service.redis, 6_000));
afterAll(async () => {
  await inference.stop();
  await service.stop();
});

function killAndRestart(): void {
  inference.kill('SIGKILL');
  // On a busy machine it starts later than 4 s after the kill, which is when nobody waits any more: its first
  // heartbeat comes from here.
  const readiness = new ReadinessStore(service.redis.store);
  const starting = { id: 'starting', host: 'host', pid: 1, state: 'loading' } as const;
  const beats = setInterval(() => void readiness.beat(starting), 500);
  onTestFinished(() => clearInterval(beats));
  inference = startInferenceProcess({ REDIS_URL: service.redis.url });
}

/**
 * What a new process does first, which on a busy machine takes over ten seconds: it starts, loads its model,
 * and takes the upload.
 */
const whenStarted = { interval: 1, timeout: 25_000 };
const whileActive = (count: () => Promise<number>) => expect.poll(count, whenStarted).toBe(1);

test('during an upload: the waiting client gets its 200 with the text of an undisturbed run', async () => {
  const { pcm } = fixture('h00');
  const long = wavFile(Buffer.concat([pcm, pcm]).subarray(0, 480_000));
  const undisturbed = await upload(service.origin, long);
  expect(undisturbed.status).toBe(200);
  const answer = upload(service.origin, long);
  await whileActive(() => service.redis.client.llen('{asr}:uploads:active'));
  killAndRestart();
  expect(await answer).toMatchObject({ status: 200, body: { text: undisturbed.body['text'] } });
}, 40_000);

/** @returns how much of a session's audio has gone into a model call */
async function takenBytes(results: string): Promise<number> {
  const fields = (await service.redis.client.xrevrange(results, '+', '-', 'COUNT', 1))[0]?.[1] ?? [];
  return Number(fields[fields.indexOf('takenBytes') + 1] ?? 0);
}

test('during a stream: the final is that of an undisturbed run, partials only grow and none comes twice', async () => {
  const { pcm, text } = fixture('h06');
  const client = await openStream(service.wsUrl);
  const results = new RedisKeys('{asr}').results(String((await client.message('ready'))['session_id']));
  // Two seconds may wait at most.
  const untilTaken = (bytes: number) =>
    expect.poll(() => takenBytes(results), whenStarted).toBeGreaterThanOrEqual(bytes);
  await sendPaced(client, pcm.subarray(0, 64_000), 3_200, 50);
  await client.message('partial');
  await untilTaken(48_000);
  killAndRestart();
  await sendPaced(client, pcm.subarray(64_000, 96_000), 3_200, 50);
  await untilTaken(96_000);
  await sendPaced(client, pcm.subarray(96_000), 3_200, 50);
  client.end();
  expect((await client.message('final'))['text']).toBe(text);
  expect(await client.closed()).toBe(1000);
  const heard = client.received.filter((message) => message.type === 'partial' || message.type === 'final');
  const revisions = heard.map((message) => Number(message['revision']));
  expect(revisions).toEqual([...new Set(revisions)].sort((x, y) => x - y));
  const partials = heard.slice(0, -1).map((message) => message['text']);
  expect(new Set(partials).size).toBe(partials.length);
  await expect.poll(() => service.api.logged('stream session').at(-1)?.['takeovers']).toBe(1);
}, 40_000);

test.each([
  // Slower than in real time, because other tests take the processor, too.
  ['the bundled model', 250],
  ['a streaming Paraformer', 200],
])('during a stream with %s, and a standby: the same final', { timeout: 60_000 }, async (model, paceMs) => {
  await inference.stop();
  const folder = testFolder();
  writeSmallStreamingParaformer(folder);
  const settings = {
    REDIS_URL: service.redis.url,
    ASR_MODEL: model === 'the bundled model' ? 'bundled' : folder,
  };
  const standby = startInferenceProcess(settings);
  inference = startInferenceProcess(settings);
  onTestFinished(() => standby.stop());
  await expect.poll(() => service.redis.client.zcard('{asr}:inferences'), whenStarted).toBe(2);
  const both = [inference, standby];
  await expect
    .poll(() => both.every((process) => process.logged('model loaded').length === 1), whenStarted)
    .toBe(true);
  const pcm = readPcm16(readFileSync(join(packageRoot(), 'test/fixtures/real-speech/BAC009S0150W0453.wav')));
  const undisturbed = await upload(service.origin, wavFile(pcm));
  expect(undisturbed.status).toBe(200);

  const client = await openStream(service.wsUrl);
  const sessionId = String((await client.message('ready'))['session_id']);
  await sendPaced(client, pcm.subarray(0, 64_000), 3_200, paceMs);
  await client.message('partial');
  const owner = await service.redis.client.get(new RedisKeys('{asr}').lease(sessionId));
  const [killed, other] = owner?.includes(`:${standby.child.pid}:`)
    ? [standby, inference]
    : [inference, standby];
  killed.kill('SIGKILL');
  inference = other;
  await sendPaced(client, pcm.subarray(64_000), 3_200, paceMs);
  client.end();
  expect((await client.message('final'))['text']).toBe(undisturbed.body['text']);
  expect(await client.closed()).toBe(1000);
  const revisions = client.received.flatMap(({ revision }) =>
    revision === undefined ? [] : [Number(revision)],
  );
  expect(revisions).toEqual([...new Set(revisions)].sort((x, y) => x - y));
  await expect.poll(() => service.api.logged('stream session').at(-1)?.['takeovers']).toBe(1);
});

async function startHolding(): Promise<ScriptedProcess> {
  const holding = new ScriptedProcess(service.redis.url);
  inference = holding;
  await holding.hold();
  return holding;
}

/** In a model call that is held, so that both kills meet it at work. */
test('twice on the same upload: 500 inference_failed, and the service goes on', async () => {
  await inference.stop();
  const first = await startHolding();
  await untilReady(service.origin);
  const pcm = scriptedPcm(1);
  const answer = upload(service.origin, wavFile(pcm));
  await first.held();
  await first.stop();
  const second = await startHolding();
  await second.held();
  await second.stop();
  inference = await ScriptedProcess.start(service.redis.url);
  expect(await answer).toMatchObject({ status: 500, body: { error: 'inference_failed' } });
  expect(await upload(service.origin, wavFile(pcm))).toMatchObject({
    status: 200,
    body: { text: scriptedText(pcm) },
  });
}, 60_000);
