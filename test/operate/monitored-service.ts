import { expect, vi } from 'vitest';
import { type Relay, startRelay } from '../support/machine/relay.ts';
import { startRedis, type TestRedis } from '../support/redis/redis.ts';
import type { ProcessUnderTest } from '../support/service/inference-process.ts';
import { startApiProcess, startInferenceProcess } from '../support/service/real-service.ts';
import { ADMIN_TOKEN, type Job, Prometheus } from './prometheus.ts';

const ADMIN = { ASR_ADMIN_TOKEN: ADMIN_TOKEN, ASR_ADMIN_PORT: '0', ASR_INFERENCE_ADMIN_PORT: '0' };
const PATIENCE_MS = 90_000;

/** One process of the service that Prometheus watches. */
export interface Member {
  readonly job: Job;
  readonly process: ProcessUnderTest;
  /** host:port of its metrics */
  readonly target: string;
  /** Of an API replica. */
  readonly origin: string;
  readonly wsUrl: string;
}

/** A real service whose processes come and go, and the Prometheus that watches it. */
export class MonitoredService {
  readonly redis: TestRedis;
  /** Between the service and its Redis. */
  readonly relay: Relay;
  readonly prometheus: Prometheus;
  readonly #members = new Set<Member>();

  private constructor(redis: TestRedis, relay: Relay, prometheus: Prometheus) {
    this.redis = redis;
    this.relay = relay;
    this.prometheus = prometheus;
  }

  /** Without any process yet. */
  static async start(factor: number): Promise<MonitoredService> {
    const redis = await startRedis();
    return new MonitoredService(redis, await startRelay(redis.port), await Prometheus.start(factor));
  }

  /** @param env settings besides those of all */
  async addApi(script?: string, env: Readonly<Record<string, string>> = {}): Promise<Member> {
    const { process, origin, wsUrl } = await startApiProcess({ ...this.#settings(), ...env }, script);
    return this.#add('api', process, 'serving', { origin, wsUrl });
  }

  /** Returns when its model is loaded. @param model the folder of another model than the small one */
  async addInference(model?: string): Promise<Member> {
    const env = { ...this.#settings(), ...(model === undefined ? {} : { ASR_MODEL: model }) };
    const process = startInferenceProcess(env);
    const member = await this.#add('inference', process, 'serving metrics');
    await until(() => expect(process.logged('model loaded'), process.stderr).toHaveLength(1));
    return member;
  }

  /** As Docker ends a container: its name is gone at once, and it has the time to finish. */
  async retire(member: Member): Promise<void> {
    this.prometheus.targets[member.job].delete(member.target);
    // Prometheus takes a new list every 5 s, by whatever factor the rest is shorter.
    const query = `up{instance="${member.target}"}`;
    await until(async () => expect(await this.prometheus.values(query)).toEqual([]));
    await this.#end(member, 'SIGTERM');
  }

  /** As the kernel ends a process. */
  async kill(member: Member): Promise<void> {
    this.prometheus.targets[member.job].delete(member.target);
    await this.#end(member, 'SIGKILL');
  }

  /** It dies, and is there again under the same address, as under a supervisor. @returns the new one */
  async crash(api: Member): Promise<Member> {
    await this.#end(api, 'SIGKILL');
    return await this.addApi(undefined, { ASR_ADMIN_PORT: new URL(`http://${api.target}`).port });
  }

  async #end(member: Member, signal: NodeJS.Signals): Promise<void> {
    this.#members.delete(member);
    member.process.kill(signal);
    await member.process.exited;
  }

  /** Of this job, those that run. */
  members(job: Job): Member[] {
    return [...this.#members].filter((member) => member.job === job);
  }

  /** Resolves when the alert is raised, or has been since then. */
  async raised(alert: string, startedAtMs = performance.now()): Promise<void> {
    await until(async () => expect(await this.prometheus.raisedSince(startedAtMs)).toContain(alert));
  }

  async stop(): Promise<void> {
    await this.prometheus.stop();
    for (const { process } of this.#members) await process.stop();
    await this.relay.stop();
    await this.redis.stop();
  }

  #settings(): Record<string, string> {
    return { REDIS_URL: `redis://127.0.0.1:${this.relay.port}`, ASR_THREADS: '1', ...ADMIN };
  }

  async #add(
    job: Job,
    process: ProcessUnderTest,
    msg: string,
    addresses = { origin: '', wsUrl: '' },
  ): Promise<Member> {
    const adminAddress = await until(() => {
      const [line] = process.logged(msg);
      if (line === undefined) throw new Error(`no admin port:\n${process.stdout}${process.stderr}`);
      return String(line['adminAddress']);
    });
    const member = { job, process, target: new URL(adminAddress).host, ...addresses };
    this.#members.add(member);
    this.prometheus.targets[job].add(member.target);
    return member;
  }
}

/** As `eventually`, with the patience that an alert needs. */
export function until<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: PATIENCE_MS, interval: 100 });
}
