import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readInferenceConfig } from '../../common/config.ts';
import { whenServing } from '../../common/launch/when-serving.ts';
import { packageRoot } from '../../common/package-root.ts';
import { Launched } from '../e2e/launched.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { HttpClient } from './http-client.ts';

const START_MS = 60_000;

/** The service as it is deployed (API, inference with the bundled model, a Redis without persistence), and the floor beside it. */
export interface BenchService {
  readonly redis: TestRedis;
  readonly api: HttpClient;
  readonly floor: HttpClient;
  /** Where the recordings are streamed to. */
  readonly streamUrl: string;
  readonly apiOrigin: string;
  readonly authorization: { readonly authorization: string };
  readonly inference: Launched;
  stop(): Promise<void>;
}

export async function startService(): Promise<BenchService> {
  const redis = await startRedis();
  const token = randomBytes(24).toString('hex');
  const env = { REDIS_URL: redis.url, ASR_API_TOKEN: token, ASR_PORT: '0' };
  const processes: Launched[] = [];
  const launch = (script: string): Launched => {
    const child = spawn(process.execPath, [join(packageRoot(), 'dist', script)], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const launched = new Launched(child);
    processes.push(launched);
    return launched;
  };
  const killAll = (): void => {
    for (const { child } of processes) child.kill('SIGKILL');
  };
  process.on('exit', killAll);

  const inference = launch('inference/main.js');
  const api = launch('api/main.js');
  const floor = launch('test/bench/floor-server.js');
  const apiOrigin = await originOf(api);
  const authorization = { authorization: `Bearer ${token}` };
  const clients = [
    new HttpClient(apiOrigin, authorization),
    new HttpClient(await originOf(floor), {}),
  ] as const;
  await whenServing(
    { origin: apiOrigin, token, tokenIsNew: false },
    readInferenceConfig(env),
    (reason) => console.error(`the model does not load: ${reason}`),
    AbortSignal.timeout(START_MS),
  );
  return {
    redis,
    api: clients[0],
    floor: clients[1],
    streamUrl: `${apiOrigin.replace('http', 'ws')}/ws/asr`,
    apiOrigin,
    authorization,
    inference,
    async stop() {
      await Promise.all(clients.map((client) => client.close()));
      for (const { child } of processes) child.kill('SIGTERM');
      await Promise.all(processes.map(({ ended }) => ended));
      process.off('exit', killAll);
      await redis.stop();
    },
  };
}

async function originOf(server: Launched): Promise<string> {
  const line: { address?: unknown } = JSON.parse(await server.line('"serving"'));
  return String(line.address);
}
