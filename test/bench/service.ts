import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../../common/process/package-root.ts';
import { SMALL_CTC } from '../support/audio/fixtures.ts';
import { startRedis, type TestRedis } from '../support/redis/redis.ts';
import { AUTHORIZED, TOKEN } from '../support/service/api.ts';
import { untilReady } from '../support/service/real-service.ts';
import { temporaryFolder } from '../support/tools/tool.ts';
import { HttpClient } from './http-client.ts';

/** The service as it is deployed, and beside it what it is compared with. */
export interface BenchService {
  readonly redis: TestRedis;
  readonly origin: string;
  readonly client: HttpClient;
  /** See chain-server.ts. */
  readonly chain: HttpClient;
  /** Starts another replica. @returns its origin; it ends with the others */
  addReplica(): Promise<string>;
  /** What the inference process has logged so far. */
  inferenceLog(): string;
  stop(): Promise<void>;
}

/** @param model as ASR_MODEL names it */
export async function startService(model: string = SMALL_CTC): Promise<BenchService> {
  const redis = await startRedis();
  const folder = temporaryFolder();
  const env = { REDIS_URL: redis.url, ASR_API_TOKEN: TOKEN, ASR_MODEL: model, ASR_PORT: '0' };
  const children: ChildProcess[] = [];
  const killAll = (): void => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.on('exit', killAll);
  /** Logs go to files: reading them from a pipe would take this process's time, whose clients are measured. */
  const launch = (script: string): { child: ChildProcess; log: string } => {
    const log = join(folder.path, `${children.length}.log`);
    const output = openSync(log, 'w');
    const child = spawn(process.execPath, [join(packageRoot(), 'dist', script)], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', output, output, 'ipc'],
    });
    closeSync(output);
    children.push(child);
    return { child, log };
  };
  /** @returns where it listens. @throws Error with its log when it ends before that */
  const listening = async ({ child, log }: ReturnType<typeof launch>): Promise<string> => {
    const ended = once(child, 'exit').then(() => {
      throw new Error(readFileSync(log, 'utf8'));
    });
    ended.catch(() => undefined);
    const [message] = await Promise.race([once(child, 'message'), ended]);
    return String(message.origin);
  };
  const addReplica = async (): Promise<string> => {
    const { child, log } = launch('api/main.js');
    for (;;) {
      const said = readFileSync(log, 'utf8');
      const origin = /"address":"(http[^"]+)"/.exec(said)?.[1];
      if (origin !== undefined) {
        await untilReady(origin);
        return origin;
      }
      if (child.exitCode !== null) throw new Error(said);
      await delay(20);
    }
  };
  const inference = launch('inference/main.js');
  const [origin, chainOrigin] = await Promise.all([
    addReplica(),
    listening(launch('test/bench/chain-server.js')),
    listening(launch('test/bench/chain-worker.js')),
  ]);
  const client = new HttpClient(origin, AUTHORIZED);
  const chain = new HttpClient(chainOrigin, {});
  return {
    ...{ redis, origin, client, chain, addReplica },
    inferenceLog: () => readFileSync(inference.log, 'utf8'),
    stop: async () => {
      await Promise.all([client.close(), chain.close()]);
      killAll();
      process.off('exit', killAll);
      await redis.stop();
      folder.remove();
    },
  };
}
