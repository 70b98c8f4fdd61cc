import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { ReadinessStore } from '../../common/readiness/readiness.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { writeQuickModel } from '../onnx/model-folder.ts';
import { fixture } from '../support/audio/fixtures.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { fileFolder } from '../support/machine/folders.ts';
import { takenPort } from '../support/machine/ports.ts';
import { startRedis, type TestRedis } from '../support/redis/redis.ts';
import { AUTHORIZED, startApi, TOKEN, upload } from '../support/service/api.ts';
import { ProcessUnderTest } from '../support/service/inference-process.ts';
import { startApiProcess, startInferenceProcess, untilReady } from '../support/service/real-service.ts';

/** What the settings do in real processes; access, time limits and wrong values have their own tests (see README's table). */
let redis: TestRedis;
/** What the tests use whose subject is not the text: it is loaded in no time. */
const quickModel = fileFolder();
const running: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  redis = await startRedis();
  writeQuickModel(quickModel);
});
afterEach(async () => {
  for (const process of running.splice(0)) await process.stop();
  await redis.client.flushall();
});
afterAll(() => redis.stop());

async function api(env: Record<string, string> = {}) {
  const started = await startApiProcess({ REDIS_URL: redis.url, ...env });
  running.push(started.process);
  return started;
}
/** An api of which the main program is not the subject: it is in this process. */
async function apiHere(env: Record<string, string> = {}) {
  const started = await startApi(redis.url, env);
  running.push(started);
  return started;
}
function inference(env: Record<string, string> = {}): ProcessUnderTest {
  const process = startInferenceProcess({ REDIS_URL: redis.url, ...env });
  running.push(process);
  return process;
}

describe('api', () => {
  /** A health request, which only debug shows, and one that every level does. */
  async function expectHealthLines({ origin, process }: Awaited<ReturnType<typeof api>>, lines: number) {
    await fetch(`${origin}/healthz`);
    await fetch(`${origin}/v1/audio/transcriptions`, { method: 'POST' });
    await expect
      .poll(() => process.logged('request').filter((line) => line['status'] === 401).length)
      .toBe(1);
    expect(process.logged('request').filter((line) => line['route'] === '/healthz')).toHaveLength(lines);
  }
  test('ASR_HOST and ASR_PORT: where it listens; ASR_LOG_LEVEL=debug shows health requests', async () => {
    const started = await api({ ASR_HOST: '127.0.0.3', ASR_PORT: '0', ASR_LOG_LEVEL: 'debug' });
    const { origin } = started;
    expect(origin).toMatch(/^http:\/\/127\.0\.0\.3:\d+$/);
    expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    await expect(fetch(`${origin.replace('127.0.0.3', '127.0.0.1')}/healthz`)).rejects.toThrow();
    await expectHealthLines(started, 2);
  });
  test('ASR_PORT=0: the page at the port that the system chose may open the stream; ASR_LOG_LEVEL=info shows no health requests', async () => {
    const started = await api({ ASR_PORT: '0', ASR_LOG_LEVEL: 'info' });
    const { origin } = started;
    const address = `${origin.replace('http', 'ws')}/ws/asr`;
    for (const own of [origin, origin.replace('127.0.0.1', 'localhost')]) {
      const client = await StreamClient.connect(address, { origin: own });
      client.terminate();
    }
    await expectHealthLines(started, 0);
  });
  test('ASR_HOST=localhost: one server, on 127.0.0.1 alone, though the name has two addresses', async () => {
    const twoAddresses = `import dns from 'node:dns';
      const { lookup } = dns;
      dns.lookup = (host, options, done) => {
        if (host !== 'localhost' || !options.all) return lookup(host, options, done);
        done(null, [1, 2].map((last) => ({ address: '127.0.0.' + last, family: 4 })));
      };`;
    const { origin } = await api({
      ASR_HOST: 'localhost',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(twoAddresses)}`,
    });
    expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await expect(fetch(`${origin.replace('127.0.0.1', '127.0.0.2')}/healthz`)).rejects.toThrow();
  });
  test.each(['ASR_PORT', 'ASR_ADMIN_PORT'])(
    'a port that is taken ends it with one line that names %s, and exit code 78',
    async (setting) => {
      const port = String(await takenPort());
      const process = new ProcessUnderTest('api/main.js', {
        REDIS_URL: redis.url,
        ASR_API_TOKEN: TOKEN,
        ASR_PORT: '0',
        [setting]: port,
      });
      expect((await process.exited).code).toBe(78);
      expect(process.stderr).toMatch(new RegExp(`^api: port ${port} of .* e\\.g\\. ${setting}=\\d+\\n$`));
    },
  );
  test('ASR_ADMIN_PORT: metrics and the queue board, on loopback only', async () => {
    const port = String(await freePort());
    const { origin, process } = await api({ ASR_ADMIN_PORT: port, ASR_HOST: '0.0.0.0' });
    await fetch(`${origin.replace('0.0.0.0', '127.0.0.1')}/healthz`);
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain('asr_http_requests_total{route="/healthz",status="200",code=""} 1');
    expect(metrics).toContain('asr_redis_up 1');
    expect(metrics).toContain('asr_slot_busy 0');
    // The line comes through another pipe than the answers.
    const addresses = (): unknown[] => process.logged('serving').map((line) => line['adminAddress']);
    await expect.poll(addresses).toEqual([`http://127.0.0.1:${port}`]);
    const board = await fetch(`http://127.0.0.1:${port}/queues`);
    expect(board.status).toBe(200);
    expect(board.headers.get('content-type')).toContain('text/html');
    const outside = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .find((entry) => entry.family === 'IPv4' && !entry.internal);
    if (outside) await expect(fetch(`http://${outside.address}:${port}/metrics`)).rejects.toThrow();
  });
  test('a missing token ends it with one line and exit code 78', async () => {
    const process = new ProcessUnderTest('api/main.js', { REDIS_URL: redis.url });
    expect((await process.exited).code).toBe(78);
    expect(process.stderr).toMatch(/^api: ASR_API_TOKEN is not set: .*\n$/);
    expect(process.stdout).toBe('');
  });
});

describe('both', () => {
  test.skipIf(!existsSync('/dev/full'))(
    'a log on a full disk: one line on stderr, and it serves and ends as ever',
    async () => {
      const full = openSync('/dev/full', 'w');
      const port = await freePort();
      const child = spawn(process.execPath, [join(packageRoot(), 'dist/api/main.js')], {
        env: {
          ...{ PATH: process.env['PATH'], REDIS_URL: redis.url },
          ...{ ASR_API_TOKEN: TOKEN, ASR_PORT: String(port) },
        },
        stdio: ['ignore', full, 'pipe'],
      });
      closeSync(full);
      onTestFinished(() => void child.kill('SIGKILL'));
      let stderr = '';
      child.stderr?.on('data', (text) => {
        stderr += text;
      });
      const exited = once(child, 'close');
      const status = (): Promise<number> =>
        fetch(`http://127.0.0.1:${port}/nowhere`).then((answer) => answer.status);
      await expect.poll(() => status().catch(String), { timeout: 20_000 }).toBe(404);
      expect(await status()).toBe(404);
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
      expect(stderr).toMatch(/^the log cannot be written \(ENOSPC: .*\n$/);
    },
  );
  test.skipIf(!existsSync('/dev/full'))('nor does it end one whose stderr is on that disk too', async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [join(packageRoot(), 'dist/inference/main.js')], {
      env: { PATH: process.env['PATH'], REDIS_URL: redis.url, ASR_MODEL: quickModel },
      stdio: ['ignore', full, full],
    });
    closeSync(full);
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'close');
    const readiness = new ReadinessStore(redis.store);
    await expect.poll(async () => (await readiness.read()).ready, { timeout: 25_000 }).toBe(true);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
  test('a name that is no setting is logged once, with the one that was probably meant', async () => {
    const env = { ASR_KEY_PREFX: '{one}', ASR_PORT_8088_TCP: 'tcp://10.0.0.1:8088' };
    const unknown = [
      expect.objectContaining({ name: 'ASR_KEY_PREFX', todo: 'did you mean ASR_KEY_PREFIX?' }),
    ];
    const { process } = await api(env);
    expect(process.logged('unknown setting')).toEqual(unknown);
    const recognizing = inference({ ...env, ASR_MODEL: quickModel });
    await expect.poll(() => recognizing.logged('unknown setting')).toEqual(unknown);
  });
  test('ASR_KEY_PREFIX: two services on one Redis do not see each other', async () => {
    inference({ ASR_KEY_PREFIX: '{one}' });
    const one = await api({ ASR_KEY_PREFIX: '{one}' });
    const two = await apiHere({ ASR_KEY_PREFIX: 'x{two}' });
    await untilReady(one.origin);
    expect((await fetch(`${two.origin}/readyz`, { headers: AUTHORIZED })).status).toBe(503);
    const { wav, text } = fixture('e12');
    expect(await upload(one.origin, wav)).toMatchObject({ status: 200, body: { text } });
    expect(
      (await redis.keys()).filter((key) => !key.startsWith('{one}') && !key.startsWith('x{two}')),
    ).toEqual([]);
  });
});

describe('inference', () => {
  test('ASR_INFERENCE_ADMIN_PORT, ASR_ADMIN_HOST, ASR_ADMIN_TOKEN: metrics, also of a model that does not load', async () => {
    const token = 'an-admin-token-of-24-chars';
    const process = inference({
      ASR_MODEL: '/nowhere/model',
      ASR_INFERENCE_ADMIN_PORT: '0',
      ASR_ADMIN_HOST: '127.0.0.3',
      ASR_ADMIN_TOKEN: token,
    });
    const line = () => process.logged('serving metrics')[0];
    await expect.poll(() => String(line()?.['adminAddress'])).toMatch(/^http:\/\/127\.0\.0\.3:\d+$/);
    const url = `${line()?.['adminAddress']}/metrics`;
    expect((await fetch(url)).status).toBe(401);
    const metrics = await (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text();
    expect(metrics).toContain('asr_redis_up 1');
    expect(metrics).toContain('nodejs_eventloop_lag_p99_seconds ');
    expect(metrics).toContain('asr_model_call_duration_seconds_count{call="upload"} 0');
    process.kill('SIGTERM');
    expect(await process.exited).toEqual({ code: 0, signal: null });
    expect(process.stdout + process.stderr).not.toContain(token);
  });
  test('a port for metrics that is taken ends it with one line and exit code 78', async () => {
    const process = inference({ ASR_INFERENCE_ADMIN_PORT: String(await takenPort()) });
    expect((await process.exited).code).toBe(78);
    expect(process.stderr).toMatch(/^asr inference: port .* e\.g\. ASR_INFERENCE_ADMIN_PORT=\d+\n$/);
  });
  test('ASR_MODEL that is not there: it stays up, /readyz says loading and why, and nothing but its name reaches a client', async () => {
    const process = inference({ ASR_MODEL: '/nowhere/model' });
    const { origin } = await apiHere();
    await expect
      .poll(
        async () => (await (await fetch(`${origin}/readyz`, { headers: AUTHORIZED })).json()) as unknown,
        { timeout: 10_000 },
      )
      .toEqual({ status: 'loading', busy: false, error: expect.stringMatching(/^[A-Za-z]+$/) });
    expect(await upload(origin, fixture('e12').wav)).toMatchObject({
      status: 503,
      body: { error: 'not_ready' },
    });
    expect(process.child.exitCode).toBeNull();
  });
});
