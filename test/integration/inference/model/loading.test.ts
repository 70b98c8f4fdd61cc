import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../../../../common/process/log.ts';
import { packageVersion } from '../../../../common/process/package-root.ts';
import { type Readiness, ReadinessStore } from '../../../../common/readiness/readiness.ts';
import { OutageLog } from '../../../../common/redis/advice/outage.ts';
import { Slot } from '../../../../common/slot/slot.ts';
import { InferenceHeartbeat } from '../../../../inference/heartbeat.ts';
import { type EngineLost, ExclusiveRun } from '../../../../inference/model/exclusive-run.ts';
import { FenceGuard } from '../../../../inference/model/fence.ts';
import { ModelLoading } from '../../../../inference/model/model-loading.ts';
import { ModelMetrics } from '../../../../inference/model/model-metrics.ts';
import { ExecutionProviderError, InferenceError, ModelLoadError } from '../../../../inference/recognizer.ts';
import { UploadRun } from '../../../../inference/uploads/upload-run.ts';
import { eventually } from '../../../support/machine/eventually.ts';
import { testFolder } from '../../../support/machine/folders.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { startInference, type TestInference } from '../../../support/service/inference.ts';
import { deferred, ScriptedRecognizer, scriptedPcm } from '../../../support/service/scripted-recognizer.ts';
import { TestSession } from '../../../support/service/test-session.ts';
import { TestUploads } from '../../../support/service/test-upload.ts';

let redis: TestRedis;
let readiness: ReadinessStore;
let inference: TestInference | undefined;

beforeAll(async () => {
  redis = await startRedis();
  readiness = new ReadinessStore(redis.store);
});
afterAll(async () => {
  await redis.stop();
});
afterEach(async () => {
  await inference?.stop();
  inference = undefined;
  await redis.client.flushall();
});

async function whenSaid(expected: Partial<Readiness>): Promise<Readiness> {
  return eventually(async () => {
    const said = await readiness.read();
    expect(said).toMatchObject(expected);
    return said;
  });
}

const log = createLogger('silent', 'inference');
const heartbeatOf = (id: string): InferenceHeartbeat =>
  new InferenceHeartbeat(readiness, { id, host: 'here', pid: process.pid }, new OutageLog(log));

describe('the heartbeat', () => {
  it('says ready, with model, family and provider, once the model is loaded, and nothing after the end', async () => {
    inference = await startInference(redis.url);
    const ready = {
      id: inference.inference.id,
      host: expect.any(String),
      pid: process.pid,
      state: 'ready',
      model: 'scripted',
      family: 'zipformer2-ctc',
      provider: 'cpu',
      version: packageVersion(),
    };
    // A beat that a busy machine did not get through is followed by the next one.
    await eventually(async () => expect((await readiness.read()).processes).toEqual([ready]));
    const close = vi.spyOn(inference.recognizer, 'close');
    await inference.stop();
    inference = undefined;
    expect((await readiness.read()).processes).toEqual([]);
    // Its thread may be at work on a load that nobody waits for.
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('stays at draining when a load was about to be tried again', async () => {
    const heartbeat = heartbeatOf('ending');
    await heartbeat.report({ state: 'ready', model: 'scripted', provider: 'cpu' });
    await heartbeat.drain();
    const recognizer = new ScriptedRecognizer();
    const loading = new ModelLoading({ recognizer, setting: tmpdir(), log });
    const ended = new Error('ended');
    await expect(loading.untilLoaded(heartbeat, AbortSignal.abort(ended), () => undefined)).rejects.toBe(
      ended,
    );
    await heartbeat.beat();
    expect((await readiness.read()).processes).toMatchObject([
      { id: 'ending', state: 'draining', model: 'scripted', provider: 'cpu' },
    ]);
  });

  it('stays at draining when the load under way fails because the process ends', async () => {
    const heartbeat = heartbeatOf('ending');
    const recognizer = new ScriptedRecognizer();
    const stopping = new AbortController();
    const ended = new Error('ended');
    recognizer.load = async () => {
      stopping.abort(ended);
      await heartbeat.drain();
      throw new ModelLoadError('the engine was closed while its model was loading');
    };
    const loading = new ModelLoading({ recognizer, setting: tmpdir(), log });
    await expect(loading.untilLoaded(heartbeat, stopping.signal, () => undefined)).rejects.toBe(ended);
    expect((await readiness.read()).processes).toMatchObject([{ id: 'ending', state: 'draining' }]);
  });

  it('goes on while nothing changes', async () => {
    inference = await startInference(redis.url);
    const key = `{asr}:inference:${inference.inference.id}`;
    await redis.client.del(key);
    await eventually(async () => expect(await redis.client.pttl(key)).toBeGreaterThan(2_000));
  });

  it('says loading while the model loads, and no session is served meanwhile', async () => {
    let release = (): void => {};
    const starting = startInference(redis.url, (recognizer) => {
      release = recognizer.holdLoad();
    });
    const sayingLoading = (): Promise<void> =>
      eventually(async () =>
        expect((await readiness.read()).processes).toMatchObject([{ state: 'loading' }]),
      );
    await sayingLoading();
    const session = await TestSession.open(redis);
    await session.producer.end();
    // Until the next two beats, which is longer than a second, a session is looked for many times.
    for (let beat = 1; beat <= 2; beat += 1) {
      await redis.client.del(await redis.keys('{asr}:inference:*'));
      await sayingLoading();
    }
    expect(await redis.keys('*:session:*')).toEqual([`{asr}:session:${session.sessionId}:audio`]);
    release();
    inference = await starting;
    await session.until('final');
    await session.close();
  });
});

describe('a model that does not load', () => {
  const broken = new ModelLoadError('model.onnx: found nothing, expected a model');

  it('is reported by the name of the exception, and the process stays until it is told to try again', async () => {
    inference = await startInference(redis.url, (recognizer) => recognizer.failNextLoad(broken));
    await whenSaid({ ready: false, error: 'ModelLoadError' });
    expect(inference.log.filter((line) => line['reason'] === broken.message)).toHaveLength(1);
    const release = inference.recognizer.holdLoad();
    inference.inference.retryLoad();
    await whenSaid({ ready: false, error: undefined });
    release();
    await whenSaid({ ready: true, error: undefined });
    expect(inference.fatal).toEqual([]);
  });

  it('is not waited for any longer when the process ends', async () => {
    const heartbeat = heartbeatOf('ending');
    const recognizer = new ScriptedRecognizer();
    recognizer.failNextLoad(broken);
    const loading = new ModelLoading({ recognizer, setting: tmpdir(), log });
    const stopping = new AbortController();
    const loaded = loading.untilLoaded(heartbeat, stopping.signal, () =>
      setImmediate(() => stopping.abort()),
    );
    await expect(loaded).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  });

  it('is tried again unasked: what was in its way, such as a want of memory, may be gone', async () => {
    const heartbeat = heartbeatOf('waiting');
    const recognizer = new ScriptedRecognizer();
    for (let attempt = 0; attempt < 20; attempt += 1) recognizer.failNextLoad(broken);
    // Its own, in which nothing changes.
    const setting = testFolder();
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const loading = new ModelLoading({ recognizer, setting, log, tryAgainMs: 5 });
    const loaded = loading.untilLoaded(heartbeat, new AbortController().signal, () => undefined);
    expect(await loaded).toMatchObject({ id: 'scripted' });
    // What an attempt has waited for is not looked at any more; the other timers of this process come and go.
    expect(timers()).toBeLessThan(before + 10);
  });

  it('is tried again for what changed in its folder during the attempt', async () => {
    const folder = testFolder();
    const recognizer = new ScriptedRecognizer();
    vi.spyOn(recognizer, 'load').mockImplementationOnce(async () => {
      await writeFile(join(folder, 'model.onnx'), 'a model');
      throw broken;
    });
    const loading = new ModelLoading({ recognizer, setting: folder, log });
    const loaded = loading.untilLoaded(
      heartbeatOf('copied-to'),
      new AbortController().signal,
      () => undefined,
    );
    expect(await loaded).toMatchObject({ id: 'scripted' });
  });

  it('because of an execution provider asked for by name ends the process', async () => {
    const fatal = new ExecutionProviderError('execution providers "cuda" do not load');
    const starting = startInference(redis.url, (recognizer) => recognizer.failNextLoad(fatal));
    await expect(starting).rejects.toBe(fatal);
  });
});

it('an engine that takes no recording any more ends the process', async () => {
  inference = await startInference(redis.url);
  inference.recognizer.open = () => Promise.reject(new InferenceError('the thread is gone'));
  const session = await TestSession.open(redis);
  await session.send(scriptedPcm(0.5));
  await session.until('failed');
  expect(inference.fatal).toMatchObject([{ name: 'EngineLost' }]);
  await session.close();
});

it('a model call that never returns ends the process', async () => {
  const recognizer = new ScriptedRecognizer();
  const gate = recognizer.hold();
  const stream = await recognizer.open();
  const lost = deferred<EngineLost>();
  const model = new ExclusiveRun(
    recognizer,
    new Slot(redis.store),
    'a',
    createLogger('silent', 'inference'),
    lost.resolve,
    30,
  );
  const call = model.run({ holder: 'a holder', fence: 1 }, () => stream.accept(scriptedPcm(0.5)));
  expect((await lost.promise).message).toBe('a model call has not returned for 0.03 s');
  gate.release();
  await call;
});

it('an engine that never opens a recording ends the process', async () => {
  const recognizer = new ScriptedRecognizer();
  const before = await recognizer.open();
  const slot = new Slot(redis.store);
  const lost = deferred<EngineLost>();
  const model = new ExclusiveRun(recognizer, slot, 'a', log, lost.resolve, 30);
  const uploads = await TestUploads.connect(redis);
  const { job } = await uploads.submit(scriptedPcm(0.5));
  const parts = { uploads: uploads.store, fences: new FenceGuard(slot), model, metrics: new ModelMetrics() };
  const running = new UploadRun(parts, job, new AbortController().signal).run(false);
  expect((await lost.promise).message).toBe('a model call has not returned for 0.03 s');
  await before.close();
  expect(await running).toBe('done');
  await uploads.close();
});

it('a model call that returns is forgotten: it ends no process later, and keeps its slot no longer', async () => {
  const recognizer = new ScriptedRecognizer();
  const stream = await recognizer.open();
  const slot = new Slot(redis.store);
  await slot.acquire('a holder');
  const lost: EngineLost[] = [];
  const model = new ExclusiveRun(
    recognizer,
    slot,
    'a',
    createLogger('silent', 'inference'),
    (error) => lost.push(error),
    700,
  );
  await model.run({ holder: 'a holder', fence: 1 }, () => stream.accept(scriptedPcm(0.5)));
  // Renewed twice a second, it would never end.
  await redis.client.pexpire('{asr}:slot', 900);
  await eventually(async () => expect(await slot.holder()).toBeUndefined());
  expect(lost).toEqual([]);
});
