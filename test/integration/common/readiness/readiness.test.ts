import { once } from 'node:events';
import { createServer } from 'node:http';
import { getGlobalDispatcher, ProxyAgent, setGlobalDispatcher } from 'undici';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { readInferenceConfig } from '../../../../common/config/config.ts';
import { createLogger } from '../../../../common/process/log.ts';
import { HeartbeatSender } from '../../../../common/readiness/heartbeats.ts';
import { type Heartbeat, ReadinessStore } from '../../../../common/readiness/readiness.ts';
import { ReplicaStore } from '../../../../common/readiness/replicas.ts';
import { OutageLog } from '../../../../common/redis/advice/outage.ts';
import { RedisKeys } from '../../../../common/store/keys.ts';
import { Store } from '../../../../common/store/store.ts';
import { InferenceHeartbeat } from '../../../../inference/heartbeat.ts';
import { whenServing } from '../../../../launch/supervisor/when-serving.ts';
import { eventually } from '../../../support/machine/eventually.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { RedisMonitor } from '../../../support/redis/redis-monitor.ts';

let redis: TestRedis;
let store: ReadinessStore;
const keys = new RedisKeys('{asr}');
const beat = (id: string, state: Heartbeat['state'] = 'ready'): Heartbeat => ({
  id,
  host: 'host',
  pid: 1,
  state,
});
const NOT_LOADED: Heartbeat = { ...beat('a', 'loading'), error: 'ModelError' };
const silent = createLogger('silent', 'inference', { write: () => undefined });
const ids = async (): Promise<string[]> => (await store.read()).processes.map(({ id }) => id);

beforeAll(async () => {
  redis = await startRedis();
  store = new ReadinessStore(redis.store);
});
afterAll(() => redis.stop());
beforeEach(() => redis.client.flushall());

test('a heartbeat and the index of all have a TTL of 3 s, and each beat gives it anew', async () => {
  for (const _ of ['first', 'again']) {
    await store.beat(beat('a'));
    for (const key of [keys.inference('a'), keys.inferences]) {
      const leftMs = await redis.client.pttl(key);
      expect(leftMs, key).toBeGreaterThan(2_000);
      expect(leftMs, key).toBeLessThanOrEqual(3_000);
      await redis.client.pexpire(key, 1_000);
    }
  }
  expect(await ids()).toEqual(['a']);
});

test('a process that ends leaves neither its state nor its name, and the others theirs', async () => {
  await store.beat(beat('a'));
  await store.beat(beat('b', 'loading'));
  expect(await store.look()).toMatchObject({ ready: true });
  await store.stop('a');
  expect(await redis.client.exists(keys.inference('a'))).toBe(0);
  expect(await redis.client.zrange(keys.inferences, 0, '-1')).toEqual(['b']);
  expect(await store.look()).toMatchObject({ ready: false });
});

test('one that could recognize and drains now cannot any more', async () => {
  await store.beat(beat('a'));
  expect(await store.look()).toMatchObject({ ready: true });
  await store.beat(beat('a', 'draining'));
  expect(await store.look()).toMatchObject({ ready: false });
});

test.each<[string, readonly (readonly Heartbeat[])[], string]>([
  ['one that is ready', [[beat('a')], [beat('a')], [beat('a')]], 'never'],
  ['one that ends what it has', [[beat('a', 'draining')], [beat('a', 'draining')]], 'never'],
  ['one that loads its model', [[beat('a', 'loading')], [beat('a', 'loading')]], 'never'],
  ['one whose model does not load', [[NOT_LOADED], [NOT_LOADED], [NOT_LOADED]], 'at look 2'],
  ['none', [[], [], []], 'at look 2'],
  ['none for one look, as behind a Redis that stood still', [[], [beat('a')], [], []], 'at look 4'],
])('whoever waits, with %s, is told that nobody is left', async (_, looks, told) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const onGone = vi.fn();
  const stop = store.watch(onGone);
  const heard: number[] = [];
  for (const heartbeats of looks) {
    await redis.client.flushall();
    for (const heartbeat of heartbeats) await store.beat(heartbeat);
    vi.advanceTimersByTime(1_000);
    // Its commands, one after the other, are answered before these.
    for (let command = 0; command < 5; command += 1) await redis.client.ping();
    heard.push(onGone.mock.calls.length);
  }
  stop();
  expect(vi.getTimerCount()).toBe(0);
  expect(heard.includes(1) ? `at look ${heard.indexOf(1) + 1}` : 'never').toBe(told);
  expect(onGone.mock.calls.length).toBeLessThan(2);
});

test('why none is ready is said also when only one of several has an error', async () => {
  await store.beat(beat('a', 'loading'));
  await store.beat({ ...beat('b', 'loading'), error: 'ModelError' });
  await store.beat(beat('c', 'loading'));
  expect(await store.read()).toMatchObject({ ready: false, error: 'ModelError' });
});

test('the name of one that died goes with the next beat of another', async () => {
  await redis.client.zadd(keys.inferences, Date.now() - 10, 'dead', Date.now() + 3_000, 'alive');
  await store.beat(beat('a'));
  expect((await redis.client.zrange(keys.inferences, 0, '-1')).sort()).toEqual(['a', 'alive']);
  // One that has a name alone counts for nothing.
  expect(await ids()).toEqual(['a']);
});

test('what a process reports is written when the report is over, not with the next beat', async () => {
  const sender = new InferenceHeartbeat(store, { id: 'a', host: 'host', pid: 1 }, new OutageLog(silent));
  await sender.report({ state: 'ready' });
  expect((await store.read()).processes).toEqual([beat('a')]);
  await sender.drain();
  await expect(sender.report({ state: 'ready' })).rejects.toThrow(
    'heartbeat: draining → ready is no transition',
  );
  expect((await store.read()).processes).toEqual([beat('a', 'draining')]);
  await sender.stop();
  expect(await ids()).toEqual([]);
});

test('a heartbeat that is under way when its process ends does not write it back', async () => {
  const client = redis.client.duplicate();
  onTestFinished(() => client.disconnect());
  const monitor = await RedisMonitor.start(redis);
  onTestFinished(() => monitor.close());
  const carriedOut = (name: string): Promise<void> =>
    new Promise((resolve) => monitor.on('command', ([found]) => void (found === name && resolve())));
  const replicas = new ReplicaStore(new Store(client, '{asr}'));
  const sender = new HeartbeatSender(replicas, { id: 'a', version: '1' }, new OutageLog(silent));
  await sender.beat();
  // Redis has lost the script. The process that hears of it sends the heartbeat once more, and hears of it late.
  await redis.client.script('FLUSH');
  client.stream.pause();
  const refused = carriedOut('evalsha');
  const beating = sender.beat();
  await refused;
  await new ReplicaStore(redis.store).beat({ id: 'another', version: '1' });
  const sent = carriedOut('ping');
  const ending = sender.stop();
  // Behind all that the end has sent until now.
  const answered = client.ping();
  await sent;
  client.stream.resume();
  await Promise.all([beating, ending, answered]);
  await sender.beat();
  expect(await redis.client.exists(keys.replica('a'))).toBe(0);
  expect(await redis.client.zrange(keys.replicas, 0, '-1')).toEqual(['another']);
});

test.each([
  ['no JSON', 'junk'],
  ['null', 'null'],
  ['a state that is none', '{"state":1}'],
])('what is no heartbeat (%s) counts for nothing, and the others for what they say', async (_, text) => {
  await redis.client.set(keys.inference('stranger'), text);
  await redis.client.zadd(keys.inferences, Date.now() + 3_000, 'stranger');
  expect(await store.read()).toMatchObject({ ready: false, processes: [] });
  await store.beat(beat('a'));
  expect(await new ReadinessStore(redis.store).look()).toMatchObject({ ready: true });
  expect(await store.read()).toMatchObject({ ready: true, processes: [beat('a')] });
});

test('an error or a model that is no name is said as text, and steers no terminal', async () => {
  await redis.client.set(keys.inference('stranger'), '{"state":"loading","error":7,"model":8}');
  await redis.client.zadd(keys.inferences, Date.now() + 3_000, 'stranger');
  expect(await store.read()).toMatchObject({ error: '7', processes: [{ model: '8' }] });

  await store.beat({ ...beat('stranger', 'loading'), error: '\u001b[2J\nready after 0.1 s' });
  const config = readInferenceConfig({ REDIS_URL: redis.url });
  const stop = new AbortController();
  const reason = await new Promise((resolve, reject) => {
    const service = { origin: 'http://127.0.0.1:1', token: 'none' };
    whenServing(service, config, resolve, stop.signal).catch(reject);
  });
  stop.abort();
  expect(reason).toBe('\\u{1b}[2J\\u{a}ready after 0.1 s');
});

test('on the screen of npm start a model that fails again at each attempt is one line', async () => {
  const looks = async (): Promise<number> =>
    Number(/cmdstat_mget:calls=(\d+)/.exec(await redis.client.info('commandstats'))?.[1] ?? 0);
  const reasons: string[] = [];
  const stop = new AbortController();
  const service = { origin: 'http://127.0.0.1:1', token: 'none' };
  const waiting = whenServing(
    service,
    readInferenceConfig({ REDIS_URL: redis.url }),
    (reason) => void reasons.push(reason),
    stop.signal,
  );
  for (const error of ['ModelLoadError', 'ModelLoadError', 'ModelFailure']) {
    for (const state of [beat('a', 'loading'), { ...beat('a', 'loading'), error }]) {
      await store.beat(state);
      const before = await looks();
      // The first of them may have been sent before the beat.
      await eventually(async () => expect(await looks()).toBeGreaterThan(before + 2));
    }
  }
  stop.abort();
  await expect(waiting).rejects.toThrow('aborted');
  expect(reasons).toEqual(['ModelLoadError', 'ModelFailure']);
});

test('npm start asks its own service past a proxy that Node was told to use (NODE_USE_ENV_PROXY)', async () => {
  await store.beat(beat('a'));
  const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const direct = getGlobalDispatcher();
  // As Node 24 does for the variable, which 20 does not know; nobody listens at this proxy.
  setGlobalDispatcher(new ProxyAgent('http://127.0.0.1:1'));
  onTestFinished(() => setGlobalDispatcher(direct));
  const address = server.address();
  const port = address instanceof Object ? address.port : 0;
  await whenServing(
    { origin: `http://127.0.0.1:${port}`, token: 'any' },
    readInferenceConfig({ REDIS_URL: redis.url }),
    () => {},
    AbortSignal.timeout(10_000),
  );
});
