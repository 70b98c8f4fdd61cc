import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { buildAdmin } from '../../../../api/operations/admin.ts';
import { ApiMetrics } from '../../../../api/operations/metrics.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { startApi, type TestApi } from '../../../support/service/api.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0, token: undefined };

let redis: TestRedis;
let api: TestApi;
let admin: FastifyInstance;

beforeAll(async () => {
  redis = await startRedis();
  api = await startApi(redis.url);
  admin = await buildAdmin(LOOPBACK, api.services, new ApiMetrics(api.services));
  await admin.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await admin.close();
  await api.stop();
  await redis.stop();
});

async function status(path: string, host: string, method = 'GET'): Promise<number | undefined> {
  const sent = request(`${admin.listeningOrigin}${path}`, { method, headers: { host } }).end();
  const [answer] = await once(sent, 'response');
  answer.resume();
  return answer.statusCode;
}

test.each(['127.0.0.1', '127.0.0.1:9100', 'localhost:9100', 'asr.localhost', '[::1]:9100', '[::1]'])(
  'for the host %s it is served',
  async (host) => {
    expect(await status('/metrics', host)).toBe(200);
    expect(await status('/queues', host)).toBe(200);
  },
);

test.each([
  'rebound.example',
  'rebound.example:9100',
  'localhost.example',
  '127.0.0.1.example',
  'notlocalhost',
])('a page that has made its name %s point here may read nothing', async (host) => {
  for (const path of ['/', '/metrics', '/queues', '/queues/api/queues', '/queues/static/favicon.ico'])
    expect(await status(path, host)).toBe(403);
});

test('with a token any name is served, and only to who sends it', async () => {
  const token = 'an-admin-token-of-24-chars';
  const guarded = await buildAdmin({ ...LOOPBACK, token }, api.services, new ApiMetrics(api.services));
  onTestFinished(() => guarded.close());
  const ask = (url: string, authorization?: string) =>
    guarded.inject({ url, headers: { host: 'asr.internal', ...(authorization ? { authorization } : {}) } });
  for (const path of ['/', '/metrics', '/queues', '/queues/api/queues', '/nowhere']) {
    for (const wrong of [undefined, 'Bearer wrong', `Basic ${token}`, token]) {
      const { statusCode, headers } = await ask(path, wrong);
      expect([statusCode, headers['www-authenticate']], `${path} ${wrong}`).toEqual([401, 'Bearer']);
    }
  }
  for (const path of ['/metrics', '/queues'])
    expect((await ask(path, `Bearer ${token}`)).statusCode).toBe(200);
});

test("Node's own metrics are there, and nothing is spent on them where nobody reads them", async () => {
  const answer = await fetch(`${admin.listeningOrigin}/metrics`);
  // Prometheus refuses what says nothing of its format.
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const text = await answer.text();
  for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes'])
    expect(text).toContain(`\n${name} `);
  expect(text).toMatch(/\nasr_build_info\{version="\d+\.\d+\.\d+"\} 1\n/);
  expect(await new ApiMetrics(api.services).registry.metrics()).not.toContain('nodejs_');
});

test('Redis is asked for each answer, and while it is away no time is told', async () => {
  const away = await startRedis();
  const other = await startApi(away.url);
  onTestFinished(() => other.stop());
  const metrics = await buildAdmin(LOOPBACK, other.services, other.metrics);
  onTestFinished(() => metrics.close());
  const read = async (name: string): Promise<number> => {
    const { body } = await metrics.inject('/metrics');
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1]);
  };
  expect(await read('asr_redis_up')).toBe(1);
  expect(await read('asr_redis_round_trip_seconds_count')).toBe(2);
  await away.stop();
  expect(await read('asr_redis_up')).toBe(0);
  expect(await read('asr_redis_round_trip_seconds_count')).toBe(2);
});

test('the board, which works without internet, asks no other host for anything', async () => {
  const board = await fetch(`${admin.listeningOrigin}/queues`);
  const elsewhere = [...(await board.text()).matchAll(/(?:src|href)="https?:/g)];
  expect(elsewhere, 'what the policy is there for').not.toHaveLength(0);
  const policy = board.headers.get('content-security-policy')?.split('; ') ?? [];
  expect(policy).toContain("default-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  // Its own pictures are within its files.
  expect(policy).toContain("img-src 'self' data:");
  expect(policy.filter((directive) => /https?:|\*/.test(directive))).toEqual([]);
});

test('the board changes nothing', async () => {
  for (const [path, method] of [
    ['pause', 'PUT'],
    ['empty', 'PUT'],
    ['obliterate', 'PUT'],
    ['add', 'POST'],
  ] as const)
    expect(await status(`/queues/api/queues/uploads/${path}`, '127.0.0.1', method)).toBe(405);
});

test('its root leads to the board', async () => {
  const answer = await fetch(`${admin.listeningOrigin}/`, { redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/queues']);
});

test('its end waits for no connection that a browser has made in advance', async () => {
  const other = await buildAdmin(LOOPBACK, api.services, new ApiMetrics(api.services));
  await other.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect(Number(new URL(other.listeningOrigin).port), '127.0.0.1').on(
    'error',
    () => undefined,
  );
  await once(other.server, 'connection');
  await other.close();
  socket.destroy();
});
