import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { InferenceConfig } from '../common/config/config.ts';
import type { Logger } from '../common/process/log.ts';
import { packageVersion } from '../common/process/package-root.ts';
import { runSteps, type ShutdownStep } from '../common/process/shutdown.ts';
import { ReadinessStore } from '../common/readiness/readiness.ts';
import { OutageLog } from '../common/redis/advice/outage.ts';
import { warnOfRedis } from '../common/redis/advice/warnings.ts';
import type { RedisClient } from '../common/redis/client.ts';
import { type ConnectionUse, closeRedis, connectRedis, follow } from '../common/redis/connection.ts';
import { Slot } from '../common/slot/slot.ts';
import { Store } from '../common/store/store.ts';
import { UploadStore } from '../common/uploads/upload-jobs.ts';
import { InferenceHeartbeat } from './heartbeat.ts';
import { ExclusiveRun } from './model/exclusive-run.ts';
import { FenceGuard } from './model/fence.ts';
import type { ModelLoading } from './model/model-loading.ts';
import { ModelMetrics } from './model/model-metrics.ts';
import { SessionWorker } from './sessions/session-worker.ts';
import { UploadWorker } from './uploads/upload-worker.ts';

export interface InferenceParts {
  readonly config: InferenceConfig;
  /** May have begun. */
  readonly loading: ModelLoading;
  readonly log: Logger;
  /** The process must end: a named execution provider or the runtime does not load, or the engine is lost. */
  readonly onFatal: (error: Error) => void;
}

export interface Inference {
  /** Names this process in heartbeats and leases. */
  readonly id: string;
  readonly metrics: ModelMetrics;
  /** Whether the model is being loaded or called. Nothing but SIGKILL ends what hangs there. */
  isInModel(): boolean;
  /** Sends one command to Redis. @throws StoreUnavailable */
  askRedis(): Promise<unknown>;
  /**
   * Resolves when the first attempt to load the model has ended and the heartbeat says how. Without Redis it
   * goes on, and serves when Redis is there.
   */
  start(): Promise<void>;
  /** After a load that failed: tries again now. */
  retryLoad(): void;
  /** Takes nothing new, finishes what is active, and ends. */
  stopSteps(): ShutdownStep[];
  /** Runs these steps. */
  stop(): Promise<void>;
}

/** The parts of an inference process, without the process: everything between Redis and the recognizer. */
export function createInference(parts: InferenceParts): Inference {
  const { config, loading, log, onFatal } = parts;
  const { recognizer } = loading;
  const host = hostname();
  const id = `${host}:${process.pid}:${randomBytes(4).toString('hex')}`;
  const outages = new OutageLog(log);
  const connect = (use: ConnectionUse, name = `asr-inference-${use}`): RedisClient => {
    const client = connectRedis(config.redis, use, name, outages.onError(name));
    outages.watch(name, client);
    return client;
  };
  const redis = connect('commands');
  const store = new Store(redis, config.keyPrefix);
  const { keys } = store;
  const blocking = connect('blocking');
  const connection = connect('bullmq');
  // The name by which BullMQ, and so the queue board, tells that this is a worker.
  const reader = connect('bullmq', `${keys.prefix}:${Buffer.from(keys.queueName).toString('base64')}`);

  const slot = new Slot(store);
  const heartbeat = new InferenceHeartbeat(
    new ReadinessStore(store),
    { id, host, pid: process.pid, version: packageVersion() },
    outages,
  );
  redis.on('ready', () => void heartbeat.beat());
  warnOfRedis(redis, log);

  const fences = new FenceGuard(slot);
  const model = new ExclusiveRun(recognizer, slot, id, log, onFatal);
  const metrics = new ModelMetrics();
  const sessions = new SessionWorker({ store, blocking, slot, fences, model, metrics, processId: id, log });
  const uploads = new UploadStore(store);
  const jobs = new UploadWorker({ connection, reader, keys, uploads, fences, model, metrics, log });
  follow(redis, [blocking, connection, reader]);
  const stopping = new AbortController();
  let isLoaded = false;

  const serveOnceLoaded = async (onAttempt: () => void): Promise<void> => {
    const loaded = loading.untilLoaded(heartbeat, stopping.signal, onAttempt);
    const [info] = await Promise.all([loaded, jobs.prepare()]);
    isLoaded = true;
    stopping.signal.throwIfAborted();
    log.info({ model: info }, 'model loaded');
    metrics.loaded(info);
    sessions.start(info.isReDecoding);
    jobs.start();
    const { id: model, family, provider } = info;
    await heartbeat.report({ state: 'ready', model, family, provider });
    onAttempt();
  };

  const stopSteps = (): ShutdownStep[] => [
    {
      name: 'drain',
      run: async () => {
        stopping.abort();
        await heartbeat.drain();
      },
    },
    { name: 'active recording', run: async () => void (await Promise.all([sessions.stop(), jobs.stop()])) },
    { name: 'model', run: () => recognizer.close() },
    { name: 'heartbeat', run: () => heartbeat.stop().catch(() => undefined) },
    {
      name: 'connections',
      run: async () => {
        for (const client of [redis, blocking, connection]) closeRedis(client);
      },
    },
  ];

  return {
    id,
    metrics,
    isInModel: () => !isLoaded || model.isRunning,
    askRedis: () => slot.holder(),
    start: () =>
      new Promise((resolve) => {
        heartbeat.start();
        serveOnceLoaded(resolve).catch((error: unknown) => {
          if (stopping.signal.aborted) resolve();
          else onFatal(error instanceof Error ? error : new Error(String(error)));
        });
      }),
    retryLoad: () => loading.retry(),
    stopSteps,
    stop: async () => void (await runSteps(log, stopSteps())),
  };
}
