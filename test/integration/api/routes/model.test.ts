import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Heartbeat } from '../../../../common/readiness/readiness.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { startApi, type TestApi } from '../../../support/service/api.ts';

let redis: TestRedis;
let api: TestApi;
beforeAll(async () => {
  redis = await startRedis();
  api = await startApi(redis.url);
});
afterAll(async () => {
  await api.stop();
  await redis.stop();
});
beforeEach(() => redis.client.flushall());

/** Without a token: the page shows the name to everybody whose address may ask. */
const ask = (method = 'GET'): Promise<Response> => fetch(`${api.origin}/page/model.json`, { method });
const beat = (state: Heartbeat['state'], said: Partial<Heartbeat> = {}): Promise<void> =>
  api.services.readiness.beat({ id: state, host: 'host', pid: 1, state, ...said });

describe('/page/model.json', () => {
  test.each([
    ['bundled', 'bundled'],
    ['x-asr-480ms', 'x-asr-480ms'],
    ['/srv/models/my model', 'my model'],
    ['/srv/models/x/', 'x'],
    ['../models/x', 'x'],
  ])('names the model %s as %s, and no path', async (model, id) => {
    await beat('ready', { model, family: 'zipformer2-ctc', provider: 'cpu' });
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(await answer.json()).toEqual({ id, family: 'zipformer2-ctc' });
  });

  test('is that of a process that is ready, and of none while none is', async () => {
    const none = { id: null, family: null };
    expect(await (await ask()).json()).toEqual(none);
    await beat('draining', { model: 'old', family: 'zipformer2-ctc' });
    await beat('loading', { error: 'ModelLoadError' });
    expect(await (await ask()).json()).toEqual(none);
    await beat('ready', { model: 'new', family: 'zipformer2-ctc' });
    expect(await (await ask()).json()).toEqual({ id: 'new', family: 'zipformer2-ctc' });
  });

  test('an older version of the process tells no family', async () => {
    await beat('ready', { model: 'bundled' });
    expect(await (await ask()).json()).toEqual({ id: 'bundled', family: null });
  });

  test('is kept nowhere, and answers HEAD', async () => {
    await beat('ready', { model: 'bundled', family: 'zipformer2-ctc' });
    for (const method of ['GET', 'HEAD']) {
      const answer = await ask(method);
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    }
  });

  test('cannot be told while the store is away', async () => {
    const away = await startApi('redis://127.0.0.1:1', {}, { waitForRedis: false });
    try {
      const answer = await fetch(`${away.origin}/page/model.json`);
      expect([answer.status, await answer.json()]).toMatchObject([503, { error: 'not_ready' }]);
    } finally {
      await away.stop();
    }
  });
});
