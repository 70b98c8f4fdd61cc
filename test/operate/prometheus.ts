import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { temporaryFolder } from '../support/tools/tool.ts';

const run = promisify(execFile);
const FOLDER = join(packageRoot(), 'deploy', 'prometheus');
export const RULES = join(FOLDER, 'rules.yml');
export const ADMIN_TOKEN = 'an-admin-token-of-24-chars';
const JOBS: readonly Job[] = ['api', 'inference', 'queue'];
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;
const DEFAULT_LOOKBACK_MS = 5 * UNIT_MS.m;

export type Job = 'api' | 'inference' | 'queue';

/** Prometheus with the files of deploy/, in which every time is shorter by one factor. */
export class Prometheus {
  /** Where it looks, as it would ask Docker's DNS: what has ended is not in there. */
  readonly targets: Readonly<Record<Job, Set<string>>> = {
    api: new Set(),
    inference: new Set(),
    queue: new Set(),
  };
  readonly #factor: number;
  readonly #folder = temporaryFolder();
  readonly #discovery = createServer((request, response) => {
    const job = JOBS.find((job) => request.url === `/${job}`) ?? 'api';
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify([{ targets: [...this.targets[job]] }]));
  });
  #server: ChildProcess | undefined;
  #origin = '';

  private constructor(factor: number) {
    this.#factor = factor;
  }

  /** @param factor by which its intervals, the rules' ranges and each `for` are divided */
  static async start(factor: number): Promise<Prometheus> {
    const prometheus = new Prometheus(factor);
    await prometheus.#start();
    return prometheus;
  }

  async #start(): Promise<void> {
    const { path } = this.#folder;
    this.#discovery.listen(0, '127.0.0.1');
    await once(this.#discovery, 'listening');
    const address = this.#discovery.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    writeFileSync(join(path, 'token'), ADMIN_TOKEN);
    const rules = readFileSync(RULES, 'utf8').replaceAll(/\[[\dsmh:]+\]|\bfor: \w+/g, (found) =>
      this.shortened(found),
    );
    writeFileSync(join(path, 'rules.yml'), rules);
    const refresh = `refresh_interval: ${this.shortened('30s')}`;
    const file = join(path, 'prometheus.yml');
    const text = readFileSync(join(FOLDER, 'prometheus.yml'), 'utf8')
      .replaceAll('/tmp/asr-admin-token', join(path, 'token'))
      .replaceAll(/(?<=_interval: )\w+/g, (found) => this.shortened(found))
      .replaceAll(
        /dns_sd_configs: \[\{ names: \[(\w+)\].*/g,
        `http_sd_configs: [{ url: "http://127.0.0.1:${address.port}/$1", ${refresh} }]`,
      );
    writeFileSync(file, text);
    await run('promtool', ['check', 'config', file]);
    const port = await freePort();
    this.#origin = `http://127.0.0.1:${port}`;
    this.#server = spawn(
      'prometheus',
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(path, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        `--query.lookback-delta=${DEFAULT_LOOKBACK_MS / this.#factor}ms`,
        '--log.level=warn',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
  }

  /** @param text with times such as `5m` in it */
  shortened(text: string): string {
    return text.replaceAll(
      /\b(\d+)([smh])\b/g,
      (_, count, unit: keyof typeof UNIT_MS) => `${Math.round((count * UNIT_MS[unit]) / this.#factor)}ms`,
    );
  }

  /** What a path of its API says; undefined until it answers. */
  async ask(path: string): Promise<unknown> {
    const response = await fetch(`${this.#origin}/api/v1/${path}`).catch(() => undefined);
    const answer: { data?: unknown; error?: string } = response ? JSON.parse(await response.text()) : {};
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.data;
  }

  async #results(query: string): Promise<readonly Result[]> {
    const data = await this.ask(`query?query=${encodeURIComponent(query)}`);
    return { ...(data as { result?: Result[] } | undefined) }.result ?? [];
  }

  /** What it answers to a query now. */
  async values(query: string): Promise<number[]> {
    return (await this.#results(query)).map(({ value: [, value] }) => Number(value));
  }

  /** Names of the alerts that were raised at any time since then. */
  async raisedSince(startedAtMs: number): Promise<string[]> {
    const range = Math.max(1, Math.ceil(performance.now() - startedAtMs));
    const results = await this.#results(`count_over_time(ALERTS{alertstate="firing"}[${range}ms])`);
    return [...new Set(results.map(({ metric }) => metric['alertname'] ?? ''))].sort();
  }

  async stop(): Promise<void> {
    this.#discovery.close();
    if (this.#server) {
      const exited = once(this.#server, 'exit');
      this.#server.kill('SIGKILL');
      await exited;
    }
    this.#folder.remove();
  }
}

interface Result {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}
