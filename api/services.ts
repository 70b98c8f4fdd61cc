import { hostname } from 'node:os';
import { Queue } from 'bullmq';
import type { ApiConfig } from '../common/config/config.ts';
import type { Logger } from '../common/process/log.ts';
import { packageVersion } from '../common/process/package-root.ts';
import type { ShutdownStep } from '../common/process/shutdown.ts';
import { HeartbeatSender } from '../common/readiness/heartbeats.ts';
import { ReadinessStore } from '../common/readiness/readiness.ts';
import { type Replica, ReplicaStore } from '../common/readiness/replicas.ts';
import { OutageLog } from '../common/redis/advice/outage.ts';
import { warnOfRedis } from '../common/redis/advice/warnings.ts';
import type { RedisClient } from '../common/redis/client.ts';
import { type ConnectionUse, closeRedis, connectRedis, follow } from '../common/redis/connection.ts';
import { SLOT_TTL_MS, Slot } from '../common/slot/slot.ts';
import { Store } from '../common/store/store.ts';
import {
  UPLOAD_DEADLINE_MS,
  UPLOAD_QUEUE_OPTIONS,
  type UploadJob,
  UploadStore,
} from '../common/uploads/upload-jobs.ts';
import { Access } from './http/access.ts';
import { ServiceStateReader } from './operations/service-state.ts';
import { Admission } from './slot/admission.ts';
import { BackgroundWork } from './slot/background-work.ts';
import { ResultFeed } from './slot/result-feed.ts';
import { StreamOpener } from './streams/stream-opener.ts';
import { Transcriber } from './uploads/transcriber.ts';

/** Everything of a replica that outlives one request: the connections and what works on them. */
export interface ApiServices {
  readonly access: Access;
  readonly readiness: ReadinessStore;
  /** Whether Redis takes what this replica writes. */
  readonly heartbeat: HeartbeatSender<Replica>;
  readonly admission: Admission;
  readonly slot: Slot;
  readonly transcriber: Transcriber;
  readonly streams: StreamOpener;
  readonly queue: Queue<UploadJob>;
  readonly state: ServiceStateReader;
  /** The connection for commands, for the start-up checks. */
  readonly redis: RedisClient;
  readonly closing: readonly ShutdownStep[];
}

/** Opens the connections (they keep trying by themselves) and puts the services on them. */
export function createServices(config: ApiConfig, log: Logger, deadlineMs = UPLOAD_DEADLINE_MS): ApiServices {
  const replica = `${hostname()}:${process.pid}`;
  const outages = new OutageLog(log);
  const connect = (use: ConnectionUse, purpose: string): RedisClient => {
    const client = connectRedis(
      config.redis,
      use,
      `asr-api:${purpose}:${process.pid}`,
      outages.onError(purpose),
    );
    outages.watch(purpose, client);
    return client;
  };
  const redis = connect('commands', 'commands');
  warnOfRedis(redis, log);
  const store = new Store(redis, config.keyPrefix);
  const blocking = connect('blocking', 'results');
  follow(redis, [blocking]);

  const queue = new Queue<UploadJob>(store.keys.queueName, {
    ...UPLOAD_QUEUE_OPTIONS,
    prefix: config.keyPrefix,
    skipVersionCheck: true,
    skipMetasUpdate: true,
    // BullMQ's wait for the first connection fails for good when that connection is made anew meanwhile: no
    // job would ever be added.
    skipWaitingForReady: true,
    // The samples go over this connection, too. So they are there before their job is.
    connection: redis,
  });
  // BullMQ itself would write the queue's settings only once. A Redis that comes back empty would then keep 10,000 of its events.
  redis.on('ready', () => void queue.backend.setQueueMeta(queue.metaValues).catch(() => undefined));
  // The queue repeats what its connection reports already. Without a listener, each of these errors would be
  // printed, past our log.
  queue.on('error', () => undefined);

  const access = new Access(config.allowedClients, config.apiToken, config.allowedOrigins);
  const readiness = new ReadinessStore(store);
  const replicas = new ReplicaStore(store);
  const heartbeat = new HeartbeatSender(replicas, { id: replica, version: packageVersion() }, outages);
  heartbeat.start();
  const slot = new Slot(store);
  const uploads = new UploadStore(store);
  const feed = new ResultFeed(blocking, redis, log);
  const background = new BackgroundWork(log);
  const admission = new Admission({ readiness, heartbeat, slot, background, replica });
  return {
    access,
    readiness,
    heartbeat,
    admission,
    slot,
    transcriber: new Transcriber({ admission, slot, uploads, queue, feed, background, log, deadlineMs }),
    streams: new StreamOpener({ access, admission, feed, store, background }),
    queue,
    state: new ServiceStateReader({ store, slot, readiness, replicas }),
    redis,
    closing: [
      // Its key has a TTL: a Redis that is away needs no wait.
      { name: 'heartbeat', run: () => heartbeat.stop().catch(() => undefined) },
      // After that a slot that could not be given back has run out.
      { name: 'background work', run: () => background.quiet(0, SLOT_TTL_MS) },
      {
        name: 'redis',
        run: async () => {
          for (const client of [redis, blocking]) closeRedis(client);
        },
      },
    ],
  };
}
