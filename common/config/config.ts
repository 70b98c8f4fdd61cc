import { messageOf } from '../errors/errors.ts';
import { address, baseUrl, browserOrigin, isBlockedPort, proxy } from './addresses.ts';
import { ADMIN, adminConfig } from './admin.ts';
import { ConfigError, fail } from './config-error.ts';
import { defaultThreads } from './cpu-threads.ts';
import {
  type Environment,
  integer,
  list,
  neededToken,
  oneOf,
  readAll,
  type Settings,
  text,
} from './environment.ts';
import { parseRedisUrl, type RedisTarget } from './redis-url.ts';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
/** What onnxruntime-node can be asked for here. Its own check is weak: a name that it does not know silently runs on the CPU. */
const EXECUTION_PROVIDERS = ['cpu', 'cuda', 'webgpu'] as const;
export type ExecutionProvider = (typeof EXECUTION_PROVIDERS)[number];
/** `auto`: CUDA where it loads, else the CPU. A list: all of them must load. */
export type ExecutionProviders = 'auto' | readonly [ExecutionProvider, ...ExecutionProvider[]];

/**
 * As JSON quotes it. A browser sends the token in `start`, which has to fit into MAX_CONTROL_CHARACTERS, with
 * room for blanks and fields to come.
 */
const MAX_TOKEN_CHARACTERS = 900;
const DEFAULT_ORIGINS = ['http://localhost:8088', 'http://127.0.0.1:8088'];

/** What is needed to look into the store. */
const STORE = {
  redis: ['REDIS_URL', redisTarget],
  keyPrefix: ['ASR_KEY_PREFIX', keyPrefix],
  logLevel: ['ASR_LOG_LEVEL', (env, name) => oneOf(env, name, LOG_LEVELS) ?? 'info'],
} as const satisfies Settings;

const API = {
  host: ['ASR_HOST', (env, name) => text(env, name) ?? '127.0.0.1'],
  port: ['ASR_PORT', servicePort],
  apiToken: ['ASR_API_TOKEN', apiToken],
  /** Single addresses besides loopback. */
  allowedClients: ['ASR_ALLOWED_CLIENTS', (env, name) => list(env, name, address)],
  /** Origins a browser may open the stream from, besides the service's own, which it knows when it listens. */
  allowedOrigins: ['ASR_ALLOWED_ORIGINS', (env, name) => list(env, name, browserOrigin)],
  publicBase: ['ASR_PUBLIC_BASE_URL', publicBase],
  /** Addresses and CIDR ranges of load balancers whose X-Forwarded-For counts. */
  trustedProxies: ['ASR_TRUSTED_PROXIES', (env, name) => list(env, name, proxy)],
  uploadTimeoutMs: ['ASR_UPLOAD_TIMEOUT_MS', (env, name) => integer(env, name, 100, 600_000) ?? 30_000],
  /** For the bodies of all uploads that are under way: 117 of the largest. */
  uploadMemoryBytes: [
    'ASR_UPLOAD_MEMORY_MB',
    (env, name) => 1_000_000 * (integer(env, name, 1, 100_000) ?? 64),
  ],
  /** Metrics and the queue board. */
  adminPort: ['ASR_ADMIN_PORT', (env, name) => integer(env, name, 0, 65_535)],
} as const satisfies Settings;

const INFERENCE = {
  /** `bundled`, an id of the catalogue, or a folder. */
  model: ['ASR_MODEL', (env, name) => text(env, name) ?? 'bundled'],
  executionProviders: ['ASR_EXECUTION_PROVIDERS', executionProviders],
  /** Threads of one model call. */
  threads: ['ASR_THREADS', (env, name) => integer(env, name, 1, 64) ?? defaultThreads()],
  /** A file of phrases that are to be recognized. */
  hotwords: ['ASR_HOTWORDS', text],
  /** Whether a language model corrects final texts, where the recognizer can judge them. */
  languageModel: ['ASR_LANGUAGE_MODEL', (env, name) => oneOf(env, name, ['on', 'off']) !== 'off'],
  /** Metrics. */
  adminPort: ['ASR_INFERENCE_ADMIN_PORT', (env, name) => integer(env, name, 0, 65_535)],
} as const satisfies Settings;

/** The variables of both servers. */
export const SETTING_NAMES: readonly string[] = [API, INFERENCE, STORE, ADMIN].flatMap((settings) =>
  Object.values(settings).map(([name]) => name),
);

/** What both kinds of process need. */
export type CommonConfig = ReturnType<typeof readStoreConfig>;
export type ApiConfig = ReturnType<typeof readApiConfig>;
export type InferenceConfig = ReturnType<typeof readInferenceConfig>;

/** What is needed to look into the store. @throws ConfigError */
export function readStoreConfig(env: Environment) {
  return { ...readAll(STORE, env), traces: wantsTraces(env) };
}

/** @throws ConfigError naming the first setting that is missing or wrong. */
export function readApiConfig(env: Environment) {
  const { publicBase, adminPort, ...own } = readAll(API, env);
  const { port } = own;
  // Port 0 is the system's choice, for each of them another one.
  if (adminPort === port && port !== 0)
    fail('ASR_ADMIN_PORT', String(port), 'is the port of the service itself (ASR_PORT): choose another one');
  const publicOrigins = publicBase === undefined ? [] : [publicBase.origin];
  return {
    ...readStoreConfig(env),
    ...own,
    allowedOrigins: [...DEFAULT_ORIGINS, ...publicOrigins, ...own.allowedOrigins],
    publicBaseUrl: publicBase?.href.replace(/\/+$/, '') ?? `http://127.0.0.1:${port}`,
    admin: adminConfig(env, adminPort),
  };
}

/** @throws ConfigError naming the first setting that is missing or wrong. */
export function readInferenceConfig(env: Environment) {
  const { adminPort, ...own } = readAll(INFERENCE, env);
  return { ...readStoreConfig(env), ...own, admin: adminConfig(env, adminPort) };
}

/** Whether OpenTelemetry's own variables ask for traces. The SDK reads them itself. It is loaded only if one of them says where the traces go. */
function wantsTraces(env: Environment): boolean {
  const exporter = text(env, 'OTEL_TRACES_EXPORTER');
  if (exporter === 'none' || text(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return false;
  const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  return exporter !== undefined || names.some((name) => text(env, name) !== undefined);
}

function redisTarget(env: Environment, name: string): RedisTarget {
  const advice = 'give the address of Redis, e.g. redis://127.0.0.1:6379 (`npm start` brings a private one)';
  const url = text(env, name) ?? fail(name, undefined, advice);
  try {
    return parseRedisUrl(url);
  } catch (error) {
    // Hidden up to the last @: a password that is not percent-encoded may hold another. If the slashes are
    // missing, what looks like a scheme may be the user.
    const safeUrl = url.replace(/^([a-z+]+:\/\/)?.*@/is, '$1***@').replace(/\?.*/s, '?***');
    return fail(name, safeUrl, messageOf(error));
  }
}

function keyPrefix(env: Environment, name: string): string {
  const prefix = text(env, name) ?? '{asr}';
  const form = 'exactly one hash tag such as {asr}, which keeps all keys on one node of a Redis Cluster';
  return /^[^{}\s]*\{[^{}\s]+\}[^{}\s]*$/.test(prefix) ? prefix : fail(name, prefix, `must hold ${form}`);
}

function servicePort(env: Environment, name: string): number {
  const port = integer(env, name, 0, 65_535) ?? 8_088;
  const problem = 'is a port that no browser and no fetch connects to: choose another one, e.g. 8088';
  return isBlockedPort(port) ? fail(name, String(port), problem) : port;
}

function apiToken(env: Environment, name: string): string {
  const token = neededToken(env, name);
  const startCharacters = JSON.stringify(token).length;
  if (startCharacters <= MAX_TOKEN_CHARACTERS) return token;
  throw new ConfigError(
    `${name} takes ${startCharacters} characters in JSON, over ${MAX_TOKEN_CHARACTERS}, and no browser could start a stream with it (1,024 for the whole message): give a shorter one, e.g. from: openssl rand -hex 24`,
  );
}

function publicBase(env: Environment, name: string): URL | undefined {
  const value = text(env, name);
  return value === undefined ? undefined : baseUrl(name, value);
}

function executionProviders(env: Environment, name: string): ExecutionProviders {
  const names = list(env, name);
  if (names.length === 1 && names[0] === 'auto') return 'auto';
  const known = EXECUTION_PROVIDERS.join(', ');
  const all = names.join(',');
  if (names.includes('auto')) fail(name, all, `auto stands alone: write auto, or a list from ${known}`);
  const [first, ...others] = names.map(
    (wanted) =>
      EXECUTION_PROVIDERS.find((provider) => provider === wanted) ??
      fail(name, all, `${wanted} is not known: write auto, or a list from ${known}`),
  );
  return first === undefined ? 'auto' : [first, ...others];
}
