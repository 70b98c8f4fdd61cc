import { expect } from 'vitest';
import { StreamClient } from '../clients/stream-client.ts';
import { startRedis, type TestRedis } from '../redis/redis.ts';
import { type ApiOptions, AUTHORIZED, openStream, startApi, type TestApi } from './api.ts';
import { startInference, type TestInference } from './inference.ts';
import { nothingLeft } from './nothing-left.ts';
import type { ScriptedRecognizer } from './scripted-recognizer.ts';

/**
 * One api and one inference process's worth of service on a Redis of its own, and the clients that a test has
 * connected to it.
 */
export class TestService {
  readonly redis: TestRedis;
  readonly inference: TestInference;
  readonly api: TestApi;
  readonly #clients: StreamClient[] = [];

  private constructor(redis: TestRedis, inference: TestInference, api: TestApi) {
    this.redis = redis;
    this.inference = inference;
    this.api = api;
  }

  /** @param prepare of the recognizer, before it is loaded */
  static async start({
    env = {},
    prepare,
    ...options
  }: ApiOptions & {
    readonly env?: Record<string, string>;
    readonly prepare?: (recognizer: ScriptedRecognizer) => void;
  } = {}): Promise<TestService> {
    const redis = await startRedis();
    const inference = await startInference(redis.url, prepare);
    return new TestService(redis, inference, await startApi(redis.url, env, options));
  }

  get recognizer(): ScriptedRecognizer {
    return this.inference.recognizer;
  }

  async connect(headers: Record<string, string> = AUTHORIZED): Promise<StreamClient> {
    const client = await StreamClient.connect(this.api.wsUrl, headers);
    this.#clients.push(client);
    return client;
  }

  async ready(): Promise<StreamClient> {
    const client = await openStream(this.api.wsUrl);
    this.#clients.push(client);
    return client;
  }

  /** Awaits an `error` message of exactly the fields it has, and the close after it. */
  async refusal(client: StreamClient): Promise<{ code: unknown; closeCode: number }> {
    const error = await client.message('error');
    expect(error).toEqual({ type: 'error', code: expect.any(String), message: expect.any(String) });
    return { code: error['code'], closeCode: await client.closed() };
  }

  /**
   * The slot's end is awaited through the keyspace, as an operator would see it: not as long as its TTL of 5
   * s, which would end one that is forgotten.
   */
  async slotFree(): Promise<void> {
    await expect
      .poll(() => this.redis.keys('{asr}:s*'), { interval: 5, timeout: 3_000 })
      .not.toContain('{asr}:slot');
  }

  /** For after each test: all clients are gone, and so is what they had in Redis. */
  async expectNothingLeft(): Promise<void> {
    for (const client of this.#clients.splice(0)) client.terminate();
    await nothingLeft(this.redis);
  }

  async stop(): Promise<void> {
    await this.api.stop();
    await this.inference.stop();
    await this.redis.stop();
  }
}
