import { setTimeout as delay } from 'node:timers/promises';
import type { LogLevel } from '../../common/config/config.ts';
import { ReadinessStore } from '../../common/readiness/readiness.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import type { TestRedis } from '../support/redis/redis.ts';
import { AUTHORIZED, TOKEN } from '../support/service/api.ts';
import { ProcessUnderTest } from '../support/service/inference-process.ts';
import { startInferenceProcess } from '../support/service/real-service.ts';
import { KeptProcess, type KeptRun } from './kept-process.ts';

const LOOK_MS = 20;
const ANSWER_MS = 2_000;
const SHOWN_CHARACTERS = 2_000;

export interface ServiceSettings {
  readonly redis: TestRedis;
  /** Where the processes reach it. */
  readonly redisUrl: string;
  readonly replicas: number;
  readonly inferences: number;
  /** As ASR_MODEL names it. */
  readonly model: string;
  readonly logLevel: LogLevel;
}

export interface Replica {
  readonly kept: KeptProcess;
  readonly origin: string;
}

/** The real service: api and inference processes that are started again when they end. */
export class KeptService {
  readonly replicas: readonly Replica[];
  readonly inferences: readonly KeptProcess[];
  /** What should not have happened, for a person. */
  readonly faults: string[] = [];
  readonly #redis: TestRedis;
  readonly #killAll = (): void => {
    // One that stands still would not notice that this process is gone.
    for (const { run } of this.all) run.process.kill('SIGKILL');
  };

  private constructor(settings: ServiceSettings, ports: readonly number[]) {
    const { redis, inferences, model: ASR_MODEL } = settings;
    const env = { REDIS_URL: settings.redisUrl, ASR_LOG_LEVEL: settings.logLevel };
    this.#redis = redis;
    const onSelfEnd = ({ name, process }: KeptRun, how: string): void => {
      const said = `${process.stdout}${process.stderr}`.slice(-SHOWN_CHARACTERS);
      this.faults.push(`${name} has ended by itself (${how}):\n${said}`);
    };
    const inference = (): ProcessUnderTest => startInferenceProcess({ ...env, ASR_MODEL });
    this.inferences = Array.from(
      { length: inferences },
      (_, index) => new KeptProcess(`inference ${index}`, inference, onSelfEnd),
    );
    this.replicas = ports.map((port, index) => {
      const apiEnv = { ...env, ASR_API_TOKEN: TOKEN, ASR_PORT: String(port) };
      const api = (): ProcessUnderTest => new ProcessUnderTest('api/main.js', apiEnv);
      return {
        kept: new KeptProcess(`api ${index}`, api, onSelfEnd),
        origin: `http://127.0.0.1:${port}`,
      };
    });
    process.on('exit', this.#killAll);
  }

  /** Begins to start it; see `untilReady`. */
  static async start(settings: ServiceSettings): Promise<KeptService> {
    const ports = await Promise.all(Array.from({ length: settings.replicas }, () => freePort()));
    return new KeptService(settings, ports);
  }

  get all(): readonly KeptProcess[] {
    return [...this.inferences, ...this.replicas.map(({ kept }) => kept)];
  }

  /** Every run of every process so far. */
  get runs(): KeptRun[] {
    return this.all.flatMap(({ runs }) => runs);
  }

  kept(name: string): KeptProcess {
    const found = this.all.find((kept) => kept.name === name);
    if (found === undefined) throw new Error(`no process ${name}`);
    return found;
  }

  /** Waits until each process says that it can serve. @throws Error with what is missing after `timeoutMs` */
  async untilReady(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs;
    for (;;) {
      const missing = await this.#notReady();
      if (missing.length === 0) return;
      if (performance.now() > untilMs)
        throw new Error(`not ready after ${timeoutMs} ms: ${missing.join(', ')}`);
      await delay(LOOK_MS);
    }
  }

  async stop(): Promise<void> {
    process.off('exit', this.#killAll);
    await Promise.all(this.all.map((kept) => kept.stop()));
  }

  async #notReady(): Promise<string[]> {
    const store = new ReadinessStore(this.#redis.store);
    const { processes } = await store.read();
    const ready = new Set(processes.filter(({ state }) => state === 'ready').map(({ pid }) => pid));
    const replicas = await Promise.all(this.replicas.map(({ origin }) => isReady(origin)));
    return [
      ...this.inferences.filter(
        ({ run }) => !Number.isFinite(run.endedAtMs) && !ready.has(run.process.child.pid ?? 0),
      ),
      ...this.replicas.flatMap(({ kept }, index) => (replicas[index] ? [] : [kept])),
    ].map(({ name }) => name);
  }
}

async function isReady(origin: string): Promise<boolean> {
  const request = { headers: AUTHORIZED, signal: AbortSignal.timeout(ANSWER_MS) };
  return await fetch(`${origin}/readyz`, request).then(
    async (response) => {
      await response.text();
      return response.status === 200;
    },
    () => false,
  );
}
