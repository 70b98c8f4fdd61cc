import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, type TestContext, test } from 'vitest';
import { wavFile } from '../../support/audio/wav.ts';
import type { StreamClient } from '../../support/clients/stream-client.ts';
import { startRedis, type TestRedis } from '../../support/redis/redis.ts';
import { openStream, startApi, type TestApi, upload } from '../../support/service/api.ts';
import { startInference, type TestInference } from '../../support/service/inference.ts';
import { ScriptedProcess } from '../../support/service/inference-process.ts';
import { sendPaced } from '../../support/service/real-service.ts';
import { scriptedPcm, scriptedText } from '../../support/service/scripted-recognizer.ts';

/**
 * From the end of the last heartbeat until the client has its answer and the slot is free: design,
 * "recognition gone in the middle".
 */
const BOUND_MS = 3_000;
const FRAME_BYTES = 3_200;
const CHUNK_BYTES = 16_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** What a client has in the end: the code of an error, or the text. */
interface Told {
  readonly status: number;
  readonly code: unknown;
  readonly text: unknown;
}

/** One process after the other: starting is all of their work, and many at once would starve what else runs. */
let started: Promise<unknown> = Promise.resolve();
function startVictim(env: Readonly<Record<string, string>>): Promise<ScriptedProcess> {
  const start = started.then(() => ScriptedProcess.start(redis.url, env));
  started = start.catch(() => undefined);
  return start;
}

/** A service of its own on the Redis of all: one api, and the inference process that is struck. */
class Service {
  readonly api: TestApi;
  victim: ScriptedProcess;
  readonly #env: { readonly ASR_KEY_PREFIX: string };

  private constructor(api: TestApi, victim: ScriptedProcess, env: { readonly ASR_KEY_PREFIX: string }) {
    this.api = api;
    this.victim = victim;
    this.#env = env;
  }

  static async start({ task, onTestFinished }: TestContext): Promise<Service> {
    const env = { ASR_KEY_PREFIX: `{${task.id}}` };
    const api = await startApi(redis.url, env);
    onTestFinished(() => api.stop());
    const service = new Service(api, await startVictim(env), env);
    onTestFinished(() => service.victim.stop());
    return service;
  }

  /** Another one, since the last one has ended. */
  async startVictim(): Promise<void> {
    this.victim = await startVictim(this.#env);
  }

  async end(how: 'SIGKILL' | 'crash'): Promise<void> {
    if (how === 'crash') this.victim.crash();
    else this.victim.kill(how);
    await this.victim.exited;
  }

  standby(): Promise<TestInference> {
    return startInference(redis.url, undefined, this.#env);
  }

  keys(pattern: string): Promise<string[]> {
    return redis.keys(`${this.#env.ASR_KEY_PREFIX}:${pattern}`);
  }

  slot(): Promise<string | null> {
    return redis.client.get(`${this.#env.ASR_KEY_PREFIX}:slot`);
  }

  /** Resolves with the time, as of `performance.now()`, when there is no such key any more. */
  async gone(pattern: string): Promise<number> {
    while ((await this.keys(pattern)).length > 0) await delay(25);
    return performance.now();
  }

  async stream(): Promise<{ client: StreamClient; told: Promise<Told> }> {
    const client = await openStream(this.api.wsUrl);
    const told = client.closed().then((status): Told => {
      const last = client.received.at(-1);
      return { status, code: last?.['code'], text: last?.['text'] };
    });
    return { client, told };
  }

  async upload(pcm: Buffer): Promise<Told> {
    const { status, body } = await upload(this.api.origin, wavFile(pcm));
    return { status, code: body['error'], text: body['text'] };
  }
}

/** One recording, in the middle of which the process is struck that has it, or would have it. */
type Recording = (service: Service, pcm: Buffer, strike: () => Promise<void>) => Promise<Told>;

const speak = (client: StreamClient, pcm: Buffer): Promise<void> => sendPaced(client, pcm, FRAME_BYTES, 100);

const streamBeforeStart: Recording = async (service, pcm, strike) => {
  await strike();
  const { client, told } = await service.stream();
  await speak(client, pcm);
  client.end();
  return await told;
};

/** In real time: where nobody takes over, over two seconds of audio wait before the heartbeat has ended. */
const streamInTheMiddle: Recording = async (service, pcm, strike) => {
  await service.victim.hold();
  const { client, told } = await service.stream();
  await sendPaced(client, pcm.subarray(0, CHUNK_BYTES), FRAME_BYTES, 0);
  await service.victim.held();
  await strike();
  await Promise.race([told, speak(client, pcm.subarray(CHUNK_BYTES))]);
  client.end();
  return await told;
};

/** In no model call: what is sent from now on comes to a process that stands still, and is read when it wakes. */
const streamBeforeEnd: Recording = async (service, pcm, strike) => {
  const { client, told } = await service.stream();
  await speak(client, pcm);
  while ((await service.keys('session:*:lease')).length === 0) await delay(25);
  await strike();
  client.end();
  return await told;
};

const streamAfterEnd: Recording = async (service, pcm, strike) => {
  await service.victim.hold();
  const { client, told } = await service.stream();
  await speak(client, pcm);
  client.end();
  await service.victim.held();
  await strike();
  return await told;
};

const uploadThatWaits: Recording = async (service, pcm, strike) => {
  await strike();
  return await service.upload(pcm);
};

const uploadThatRuns: Recording = async (service, pcm, strike) => {
  await service.victim.hold();
  const told = service.upload(pcm);
  await service.victim.held();
  await strike();
  return await told;
};

const STREAMED = { right: 1000, notReady: 1011 };
const UPLOADED = { right: 200, notReady: 503 };
const RECORDINGS = [
  { name: 'a stream before its start', record: streamBeforeStart, seconds: 0.8, status: STREAMED },
  { name: 'a stream in the middle', record: streamInTheMiddle, seconds: 3.6, status: STREAMED },
  { name: 'a stream before its end', record: streamBeforeEnd, seconds: 0.3, status: STREAMED },
  { name: 'a stream after its end', record: streamAfterEnd, seconds: 0.3, status: STREAMED },
  { name: 'an upload that waits', record: uploadThatWaits, seconds: 0.8, status: UPLOADED },
  { name: 'an upload that runs', record: uploadThatRuns, seconds: 0.8, status: UPLOADED },
];
const IN_A_CALL = [streamInTheMiddle, streamAfterEnd, uploadThatRuns];
const inACall = RECORDINGS.filter(({ record }) => IN_A_CALL.includes(record));
const inNoCall = RECORDINGS.filter(({ record }) => !IN_A_CALL.includes(record));

type Row = (typeof RECORDINGS)[number];

/** Somebody takes over: the client has what it would have had, and no word of it. @returns the one who took over */
async function expectUnnoticed(
  { record, seconds, status }: Row,
  service: Service,
  strike: () => Promise<void>,
  { expect }: TestContext,
): Promise<TestInference> {
  const pcm = scriptedPcm(seconds);
  let standby: TestInference | undefined;
  const told = await record(service, pcm, async () => {
    // Only now: it could have begun the recording itself.
    standby = await service.standby();
    await strike();
  });
  expect(told).toMatchObject({ status: status.right, code: undefined, text: scriptedText(pcm) });
  if (standby === undefined) throw new Error('nobody was struck');
  return standby;
}

/** Nobody is left: the client is told so, and the slot is free, in time. */
async function expectNotReady(
  { record, seconds, status }: Row,
  service: Service,
  strike: () => Promise<void>,
  { expect }: TestContext,
): Promise<void> {
  let gone = Promise.resolve(0);
  const answer = await record(service, scriptedPcm(seconds), async () => {
    await strike();
    gone = service.gone('inference:*');
  });
  expect(answer).toMatchObject({ status: status.notReady, code: 'not_ready', text: undefined });
  // Which is not before the answer.
  const freeAtMs = await service.gone('slot');
  expect(freeAtMs - (await gone)).toBeLessThan(BOUND_MS);
}

// Twelve processes start one after the other: beside three other files on two cores the last ones took 31 s.
describe.concurrent('recognition that goes away', { timeout: 90_000 }, () => {
  test.for(RECORDINGS)('stopped, and awake later: $name', async (row, context) => {
    const { expect } = context;
    const service = await Service.start(context);
    const { victim } = service;
    const stop = async (): Promise<void> => victim.kill('SIGSTOP');
    /**
     * It goes on with what it had, while another one serves the next recording: it runs nothing, says
     * nothing, and leaves the slot alone.
     */
    const wake = async (other: TestInference): Promise<void> => {
      const calls = victim.calls.length;
      const pcm = scriptedPcm(0.6, 2);
      const gate = other.recognizer.hold();
      await expect.poll(() => service.api.services.readiness.look()).toMatchObject({ ready: true });
      const told = service.upload(pcm);
      await gate.entered;
      const holder = await service.slot();
      victim.kill('SIGCONT');
      victim.release();
      const beating = () => expect.poll(() => service.keys('inference:*')).toHaveLength(2);
      await beating();
      // By its next beat, a second later, it has read whatever came to it.
      const beats = await service.keys(`inference:*:${victim.child.pid}:*`);
      expect(await redis.client.del(beats)).toBe(1);
      await beating();
      expect(victim.calls).toHaveLength(calls);
      expect(await service.slot()).toBe(holder);
      gate.release();
      expect(await told).toMatchObject({ status: 200, text: scriptedText(pcm) });
      await other.stop();
    };
    await wake(await expectUnnoticed(row, service, stop, context));
    await expectNotReady(row, service, stop, context);
    await wake(await service.standby());
  });

  test.for(inACall)('a crash in the model call: $name', async (row, context) => {
    const service = await Service.start(context);
    const standby = await expectUnnoticed(row, service, () => service.end('crash'), context);
    await service.startVictim();
    await standby.stop();
    await expectNotReady(row, service, () => service.end('crash'), context);
  });

  test.for(inNoCall)('killed in no model call: $name', async (row, context) => {
    const service = await Service.start(context);
    await expectNotReady(row, service, () => service.end('SIGKILL'), context);
  });
});
