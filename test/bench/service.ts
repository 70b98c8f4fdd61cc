import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readInferenceConfig } from '../../common/config/config.ts';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { whenServing } from '../../launch/supervisor/when-serving.ts';
import { SMALL_CTC } from '../support/fixtures.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { temporaryFolder } from '../support/tool.ts';
import { HttpClient } from './http-client.ts';

const START_MS = 60_000;

/** The service as it is deployed (API, inference with the small CTC model, a Redis without persistence), and beside it what it is compared with. */
export interface BenchService {
  readonly redis: TestRedis;
  readonly api: HttpClient;
  /** See chain-server.ts. */
  readonly chain: HttpClient;
  readonly apiOrigin: string;
  /** Starts another replica. @returns its origin; it ends with the others */
  addReplica(): Promise<string>;
  /** Where recordings are streamed to. */
  readonly streamUrl: string;
  readonly authorization: { readonly authorization: string };
  /** The lines that the inference process has logged so far. */
  inferenceLog(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** @throws Error when it does not serve within a minute, with its logs */
export async function startService(): Promise<BenchService> {
  const redis = await startRedis();
  const folder = temporaryFolder();
  const token = randomBytes(24).toString('hex');
  const env = {
    PATH: process.env['PATH'],
    REDIS_URL: redis.url,
    ASR_API_TOKEN: token,
    ASR_MODEL: SMALL_CTC,
  };
  const children: ChildProcess[] = [];
  const killAll = (): void => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.on('exit', killAll);
  const logs: string[] = [];
  /** Logs go to files: reading them from a pipe would take this process's time, whose clients are measured. */
  const launch = async (script: string, port?: number): Promise<string> => {
    const logPath = join(folder.path, `${script.replaceAll('/', '-')}.log`);
    logs.push(logPath);
    const log = await open(logPath, 'a');
    const child = spawn(process.execPath, [join(packageRoot(), 'dist', script)], {
      env: { ...env, ...(port === undefined ? {} : { ASR_PORT: String(port) }) },
      stdio: ['ignore', log.fd, log.fd],
    });
    await log.close();
    children.push(child);
    return logPath;
  };

  const [apiPort, chainPort] = [await freePort(), await freePort()];
  const apiOrigin = `http://127.0.0.1:${apiPort}`;
  const inferenceLog = await launch('inference/main.js');
  await launch('api/main.js', apiPort);
  await launch('test/bench/chain-server.js', chainPort);
  await launch('test/bench/chain-worker.js');
  const authorization = { authorization: `Bearer ${token}` };
  const api = new HttpClient(apiOrigin, authorization);
  const chain = new HttpClient(`http://127.0.0.1:${chainPort}`, {});
  const stop = async (): Promise<void> => {
    await Promise.all([api.close(), chain.close()]);
    const ended = children
      .filter((child) => child.exitCode === null && child.signalCode === null)
      .map((child) => once(child, 'exit'));
    for (const child of children) child.kill('SIGTERM');
    await Promise.all(ended);
    process.off('exit', killAll);
    await redis.stop();
    folder.remove();
  };
  const untilServing = (origin: string): Promise<void> =>
    whenServing(
      { origin, token },
      readInferenceConfig(env),
      (reason) => console.error(`the model does not load: ${reason}`),
      AbortSignal.timeout(START_MS),
    );
  try {
    await untilServing(apiOrigin);
  } catch (cause) {
    const texts = await Promise.all(logs.map((log) => readFile(log, 'utf8')));
    await stop();
    throw new Error(`the service did not start:\n${texts.join('\n')}`, { cause });
  }
  return {
    redis,
    api,
    chain,
    apiOrigin,
    addReplica: async () => {
      const port = await freePort();
      await launch('api/main.js', port);
      const origin = `http://127.0.0.1:${port}`;
      await untilServing(origin);
      return origin;
    },
    streamUrl: `${apiOrigin.replace('http', 'ws')}/ws/asr`,
    authorization,
    inferenceLog: async () => (await readFile(inferenceLog, 'utf8')).split('\n'),
    stop,
  };
}
