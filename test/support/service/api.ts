import { buildApp } from '../../../api/app.ts';
import { ApiMetrics } from '../../../api/operations/metrics.ts';
import { type ApiServices, createServices } from '../../../api/services.ts';
import type { StreamTimeouts } from '../../../api/streams/stream-clocks.ts';
import { type ApiConfig, readApiConfig } from '../../../common/config/config.ts';
import { createLogger } from '../../../common/process/log.ts';
import { runSteps } from '../../../common/process/shutdown.ts';
import { whenReady } from '../../../common/redis/connection.ts';
import { wavFile } from '../audio/wav.ts';
import { StreamClient } from '../clients/stream-client.ts';
import { type ScriptedRecognizer, scriptedPcm } from './scripted-recognizer.ts';

export const TOKEN = 'test-token-0123456789';
export const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

/** A real API replica in this process, on a free port. */
export interface TestApi {
  readonly origin: string;
  readonly wsUrl: string;
  readonly services: ApiServices;
  readonly metrics: ApiMetrics;
  readonly config: ApiConfig;
  /** Every line it logged, parsed. */
  readonly log: Record<string, unknown>[];
  /** The raw log, to look for what must not be in it. */
  readonly rawLog: string[];
  /** Resolves with the first line, logged already or later, that matches. */
  logged(matches: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

export interface ApiOptions {
  readonly streamTimeouts?: StreamTimeouts;
  readonly unreadMs?: number;
  readonly keptMs?: number;
  readonly drainMs?: number;
  readonly waitForRedis?: boolean;
  readonly uploadDeadlineMs?: number;
}

export async function startApi(
  redisUrl: string,
  env: Record<string, string> = {},
  options: ApiOptions = {},
): Promise<TestApi> {
  const config = readApiConfig({
    REDIS_URL: redisUrl,
    ASR_API_TOKEN: TOKEN,
    ASR_PORT: '0',
    ASR_LOG_LEVEL: 'debug',
    ...env,
  });
  const rawLog: string[] = [];
  const lines: Record<string, unknown>[] = [];
  const waiters = new Set<() => void>();
  const write = (line: string): void => {
    rawLog.push(line);
    lines.push(JSON.parse(line));
    for (const waiter of waiters) waiter();
  };
  const log = createLogger(config.logLevel, 'api', { write }, config.apiToken);
  const services = createServices(config, log, options.uploadDeadlineMs);
  // Where a shutdown is not the subject, it is as short as it can be.
  const { streamTimeouts, unreadMs, keptMs = 0, drainMs } = options;
  const metrics = new ApiMetrics(services);
  const app = await buildApp({
    config,
    services,
    metrics,
    log,
    keptMs,
    ...(streamTimeouts ? { streamTimeouts } : {}),
    ...(unreadMs === undefined ? {} : { unreadMs }),
    ...(drainMs === undefined ? {} : { drainMs }),
  });
  if (options.waitForRedis !== false && !(await whenReady(services.redis, 5_000)))
    throw new Error(`no answer from Redis at ${redisUrl} within 5 s`);
  const origin = await app.listen({ host: '127.0.0.1', port: config.port });
  return {
    origin,
    wsUrl: `${origin.replace('http', 'ws')}/ws/asr`,
    services,
    metrics,
    config,
    log: lines,
    rawLog,
    logged: (matches) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = lines.find(matches);
          if (!found) return;
          waiters.delete(look);
          resolve(found);
        };
        waiters.add(look);
        look();
      }),
    async stop() {
      const failures = await runSteps(log, [
        { name: 'http', run: async () => app.close() },
        ...services.closing,
      ]);
      if (failures > 0) throw new Error(`${failures} shutdown steps failed: ${rawLog.join('')}`);
    },
  };
}

/** POSTs a file as the form's `file`. @param leaving the client hangs up when it is aborted */
export async function upload(
  origin: string,
  wav: Uint8Array,
  headers: Record<string, string> = AUTHORIZED,
  leaving: AbortSignal | null = null,
): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
  const form = new FormData();
  form.append('file', new Blob([Uint8Array.from(wav)], { type: 'audio/wav' }), 'recording.wav');
  const request = { method: 'POST', headers, body: form, signal: leaving };
  const response = await fetch(`${origin}/v1/audio/transcriptions`, request);
  const body: unknown = await response.json();
  if (typeof body !== 'object' || body === null) throw new Error(`no JSON object: ${JSON.stringify(body)}`);
  return { status: response.status, body: { ...body }, headers: response.headers };
}

/** An upload whose recognition has begun, and whose client has hung up. */
export async function abandonedUpload(
  origin: string,
  recognizer: ScriptedRecognizer,
): Promise<{ release(): void }> {
  const gate = recognizer.hold();
  const leaving = new AbortController();
  const answer = upload(origin, wavFile(scriptedPcm(1)), AUTHORIZED, leaving.signal);
  await gate.entered;
  leaving.abort();
  await answer.then(
    () => Promise.reject(new Error('it was answered')),
    () => undefined,
  );
  return gate;
}

/** A stream after its `ready`. @param url e.g. `ws://127.0.0.1:8088/ws/asr`. @param ca trusted besides others */
export async function openStream(
  url: string,
  headers: Record<string, string> = AUTHORIZED,
  ca?: Buffer,
): Promise<StreamClient> {
  const client = await StreamClient.connect(url, headers, ca);
  client.start();
  await client.message('ready');
  return client;
}
