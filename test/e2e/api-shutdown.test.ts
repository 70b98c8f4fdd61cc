import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedProcess } from '../support/inference-process.ts';
import { openStream, startApiProcess, untilReady } from '../support/real-service.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { scriptedPcm, scriptedText } from '../support/scripted-recognizer.ts';

/** What ends a replica that is started by hand or by a service manager: a signal. */
let redis: TestRedis;
let inference: ScriptedProcess;

beforeAll(async () => {
  redis = await startRedis();
  inference = await ScriptedProcess.start(redis.url);
}, 20_000);
afterAll(async () => {
  await inference.stop();
  await redis.stop();
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s: no new connection, the recording under way gets its final, exit code 0',
  async (signal) => {
    const api = await startApiProcess({ REDIS_URL: redis.url });
    await untilReady(api.origin);
    const client = await openStream(api.wsUrl);
    const pcm = scriptedPcm(1);
    client.audio(pcm.subarray(0, 3_200));
    api.process.kill(signal);
    await expect.poll(() => api.process.logged('shutting down')).toMatchObject([{ reason: signal }]);
    const answer = () =>
      fetch(`${api.origin}/healthz`).then(
        ({ status }) => status,
        () => 'refused',
      );
    await expect.poll(answer).toBe('refused');
    for (let start = 3_200; start < pcm.length; start += 3_200)
      client.audio(pcm.subarray(start, start + 3_200));
    client.end();
    expect((await client.message('final'))['text']).toBe(scriptedText(pcm));
    expect(await client.closed()).toBe(1000);
    expect(await api.process.exited).toEqual({ code: 0, signal: null });
  },
  20_000,
);
