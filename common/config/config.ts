import { messageOf } from '../errors/errors.ts';
import { address, baseUrl, browserOrigin, isBlockedPort, proxy } from './addresses.ts';
import { type AdminConfig, adminConfig } from './admin.ts';
import { ConfigError, fail } from './config-error.ts';
import { defaultThreads } from './cpu-threads.ts';
import { type Environment, integer, list, neededToken, text } from './environment.ts';
import { parseRedisUrl, type RedisTarget } from './redis-url.ts';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
/** What onnxruntime-node can be asked for here. Its own check is weak: a name that it does not know silently runs on the CPU. */
const EXECUTION_PROVIDERS = ['cpu', 'cuda', 'webgpu'] as const;
export type ExecutionProvider = (typeof EXECUTION_PROVIDERS)[number];
/** `auto`: CUDA where it loads, else the CPU. A list: all of them must load. */
export type ExecutionProviders = 'auto' | readonly [ExecutionProvider, ...ExecutionProvider[]];

/** What both kinds of process need. */
export interface CommonConfig {
  readonly redis: RedisTarget;
  readonly keyPrefix: string;
  readonly logLevel: LogLevel;
  /** Whether OpenTelemetry's own variables ask for traces. */
  readonly traces: boolean;
}

export interface ApiConfig extends CommonConfig {
  readonly host: string;
  readonly port: number;
  readonly apiToken: string;
  /** Single addresses besides loopback. */
  readonly allowedClients: readonly string[];
  /** Origins a browser may open the stream from, besides the service's own, which it knows when it listens. */
  readonly allowedOrigins: readonly string[];
  readonly publicBaseUrl: string;
  /** Addresses and CIDR ranges of load balancers whose X-Forwarded-For counts. */
  readonly trustedProxies: readonly string[];
  readonly uploadTimeoutMs: number;
  /** For the bodies of all uploads that are under way, in bytes. */
  readonly uploadMemoryBytes: number;
  /** Metrics and the queue board. */
  readonly admin: AdminConfig | undefined;
}

export interface InferenceConfig extends CommonConfig {
  /** `bundled`, an id of the catalogue, or a folder. */
  readonly model: string;
  readonly executionProviders: ExecutionProviders;
  /** Threads of one model call. */
  readonly threads: number;
  /** A file of phrases that are to be recognized. */
  readonly hotwords: string | undefined;
  /** Whether a language model corrects final texts, where the recognizer can judge them. */
  readonly languageModel: boolean;
  /** Metrics. */
  readonly admin: AdminConfig | undefined;
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8_088;
/** 117 of the largest bodies. */
const DEFAULT_UPLOAD_MEMORY_MB = 64;
const DEFAULT_UPLOAD_TIMEOUT_MS = 30_000;
/**
 * As JSON quotes it. A browser sends the token in `start`, which has to fit into MAX_CONTROL_CHARACTERS, with
 * room for blanks and fields to come.
 */
const MAX_TOKEN_CHARACTERS = 900;
const DEFAULT_ORIGINS = ['http://localhost:8088', 'http://127.0.0.1:8088'];

function logLevel(env: Environment): LogLevel {
  const name = 'ASR_LOG_LEVEL';
  const value = text(env, name) ?? 'info';
  const known = LOG_LEVELS.find((level) => level === value);
  return known ?? fail(name, value, `must be one of ${LOG_LEVELS.join(', ')}`);
}

/** The SDK reads these variables itself. It is loaded only if one of them says where the traces go. */
function wantsTraces(env: Environment): boolean {
  const exporter = text(env, 'OTEL_TRACES_EXPORTER');
  if (exporter === 'none' || text(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return false;
  const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  return exporter !== undefined || names.some((name) => text(env, name) !== undefined);
}

/** What is needed to look into the store. @throws ConfigError */
export function readStoreConfig(env: Environment): CommonConfig {
  const url = text(env, 'REDIS_URL');
  if (url === undefined)
    fail(
      'REDIS_URL',
      undefined,
      'give the address of Redis, e.g. redis://127.0.0.1:6379 (`npm start` brings a private one)',
    );
  let redis: RedisTarget;
  try {
    redis = parseRedisUrl(url);
  } catch (error) {
    // Hidden up to the last @: a password that is not percent-encoded may hold another. If the slashes are
    // missing, what looks like a scheme may be the user.
    const safeUrl = url.replace(/^([a-z+]+:\/\/)?.*@/is, '$1***@').replace(/\?.*/s, '?***');
    fail('REDIS_URL', safeUrl, messageOf(error));
  }
  const keyPrefix = text(env, 'ASR_KEY_PREFIX') ?? '{asr}';
  if (!/^[^{}\s]*\{[^{}\s]+\}[^{}\s]*$/.test(keyPrefix)) {
    fail(
      'ASR_KEY_PREFIX',
      keyPrefix,
      'must hold exactly one hash tag such as {asr}, which keeps all keys on one node of a Redis Cluster',
    );
  }
  return { redis, keyPrefix, logLevel: logLevel(env), traces: wantsTraces(env) };
}

/** @throws ConfigError naming the first setting that is missing or wrong. */
export function readApiConfig(env: Environment): ApiConfig {
  const apiToken = neededToken(env, 'ASR_API_TOKEN');
  const startCharacters = JSON.stringify(apiToken).length;
  if (startCharacters > MAX_TOKEN_CHARACTERS)
    throw new ConfigError(
      `ASR_API_TOKEN takes ${startCharacters} characters in JSON, over ${MAX_TOKEN_CHARACTERS}, and no browser could start a stream with it (1,024 for the whole message): give a shorter one, e.g. from: openssl rand -hex 24`,
    );

  const host = text(env, 'ASR_HOST') ?? DEFAULT_HOST;
  const port = integer(env, 'ASR_PORT', 0, 65_535) ?? DEFAULT_PORT;
  if (isBlockedPort(port))
    fail(
      'ASR_PORT',
      String(port),
      'is a port that no browser and no fetch connects to: choose another one, e.g. 8088',
    );
  const configuredBase = text(env, 'ASR_PUBLIC_BASE_URL');
  const publicBase =
    configuredBase === undefined ? undefined : baseUrl('ASR_PUBLIC_BASE_URL', configuredBase);
  const publicOrigins = publicBase === undefined ? [] : [publicBase.origin];
  const extraOrigins = list(env, 'ASR_ALLOWED_ORIGINS').map((value) =>
    browserOrigin('ASR_ALLOWED_ORIGINS', value),
  );
  const admin = adminConfig(env, 'ASR_ADMIN_PORT');
  // Port 0 is the system's choice, for each of them another one.
  if (admin?.port === port && port !== 0)
    fail('ASR_ADMIN_PORT', String(port), 'is the port of the service itself (ASR_PORT): choose another one');
  return {
    ...readStoreConfig(env),
    host,
    port,
    apiToken,
    allowedClients: list(env, 'ASR_ALLOWED_CLIENTS').map((value) => address('ASR_ALLOWED_CLIENTS', value)),
    allowedOrigins: [...DEFAULT_ORIGINS, ...publicOrigins, ...extraOrigins],
    publicBaseUrl: publicBase?.href.replace(/\/+$/, '') ?? `http://127.0.0.1:${port}`,
    trustedProxies: list(env, 'ASR_TRUSTED_PROXIES').map((value) => proxy('ASR_TRUSTED_PROXIES', value)),
    uploadTimeoutMs: integer(env, 'ASR_UPLOAD_TIMEOUT_MS', 100, 600_000) ?? DEFAULT_UPLOAD_TIMEOUT_MS,
    uploadMemoryBytes:
      1_000_000 * (integer(env, 'ASR_UPLOAD_MEMORY_MB', 1, 100_000) ?? DEFAULT_UPLOAD_MEMORY_MB),
    admin,
  };
}

/** @throws ConfigError naming the first setting that is missing or wrong. */
export function readInferenceConfig(env: Environment): InferenceConfig {
  return {
    ...readStoreConfig(env),
    model: text(env, 'ASR_MODEL') ?? 'bundled',
    executionProviders: executionProviders(env),
    threads: integer(env, 'ASR_THREADS', 1, 64) ?? defaultThreads(),
    hotwords: text(env, 'ASR_HOTWORDS'),
    languageModel: languageModel(env),
    admin: adminConfig(env, 'ASR_INFERENCE_ADMIN_PORT'),
  };
}

function languageModel(env: Environment): boolean {
  const name = 'ASR_LANGUAGE_MODEL';
  const value = text(env, name) ?? 'on';
  if (value !== 'on' && value !== 'off') fail(name, value, 'must be on or off');
  return value === 'on';
}

function executionProviders(env: Environment): ExecutionProviders {
  const name = 'ASR_EXECUTION_PROVIDERS';
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
