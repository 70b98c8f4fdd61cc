import { isIP } from 'node:net';
import { isBlockedPort } from './blocked-ports.ts';
import { defaultThreads } from './cpu-threads.ts';
import { messageOf } from './errors.ts';
import { PrintableError } from './printable.ts';
import { parseRedisUrl, type RedisTarget } from './redis-url.ts';

/** A setting has a value that cannot be used. `message` is one line that names the setting, the value and what to write. */
export class ConfigError extends PrintableError {
  override readonly name = 'ConfigError';
}

/** sysexits.h EX_CONFIG: what a process ends with that cannot run with its settings or on its machine, so that a supervisor need not try again. */
export const EXIT_CONFIG = 78;

export type Environment = Readonly<Record<string, string | undefined>>;
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
}

export interface ApiConfig extends CommonConfig {
  readonly host: string;
  readonly port: number;
  readonly apiToken: string;
  /** Single addresses besides loopback. */
  readonly allowedClients: readonly string[];
  /** Origins a browser may open the stream from. */
  readonly allowedOrigins: readonly string[];
  readonly publicBaseUrl: string;
  /** Addresses and CIDR ranges of load balancers whose X-Forwarded-For counts. */
  readonly trustedProxies: readonly string[];
  readonly uploadTimeoutMs: number;
  readonly adminPort: number | undefined;
}

export interface InferenceConfig extends CommonConfig {
  /** `bundled`, an id of the catalogue, or a folder. */
  readonly model: string;
  readonly executionProviders: ExecutionProviders;
  /** Threads of one model call. */
  readonly threads: number;
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8_088;
const MIN_TOKEN_CHARACTERS = 16;
/** Quoted, in a `start` message: what a browser sends has to fit into MAX_CONTROL_CHARACTERS, with room for blanks and fields to come. */
const MAX_TOKEN_CHARACTERS = 900;
const DEFAULT_ORIGINS = ['http://localhost:8088', 'http://127.0.0.1:8088'];

function fail(name: string, value: string | undefined, problem: string): never {
  throw new ConfigError(
    value === undefined ? `${name} is not set: ${problem}` : `${name}="${value}": ${problem}`,
  );
}

function text(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

function integer(env: Environment, name: string, fallback: number, min: number, max: number): number {
  const value = text(env, name);
  if (value === undefined) return fallback;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= min && number <= max)) fail(name, value, `must be a whole number from ${min} to ${max}`);
  return number;
}

function list(env: Environment, name: string): string[] {
  return (text(env, name) ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function logLevel(env: Environment): LogLevel {
  const name = 'ASR_LOG_LEVEL';
  const value = text(env, name) ?? 'info';
  const known = LOG_LEVELS.find((level) => level === value);
  return known ?? fail(name, value, `must be one of ${LOG_LEVELS.join(', ')}`);
}

function commonConfig(env: Environment): CommonConfig {
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
    // To the last @: one in a password that is not percent-encoded does not end it. Without slashes, the scheme may be a user.
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
  return { redis, keyPrefix, logLevel: logLevel(env) };
}

function webUrl(name: string, value: string): URL {
  if (!URL.canParse(value)) fail(name, value, 'must be an origin such as https://asr.example.com');
  const url = new URL(value);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    fail(name, value, 'must begin with http:// or https://');
  // WHATWG takes almost any character for a host: what was written is several addresses, or a pattern.
  if (!/^([\w.-]+|\[[\da-f:.]+\])$/i.test(url.hostname))
    fail(
      name,
      value,
      'must have a host such as asr.example.com; the entries of a list must be single origins, without *, separated by commas',
    );
  return url;
}

/** Everybody reads it in the documents. */
function baseUrl(name: string, value: string): URL {
  const url = webUrl(name, value);
  if (url.username !== '' || url.password !== '')
    fail(name, value.replace(/\/\/.*@/s, '//***@'), 'must be without a user and a password');
  if (/[?#]/.test(value)) fail(name, value, 'must end with the path, without "?" and "#"');
  return url;
}

function address(name: string, value: string): string {
  if (isIP(value) === 0)
    fail(name, value, 'must be single IP addresses, separated by commas (no ranges, no names)');
  return value;
}

function proxy(name: string, value: string): string {
  const [ip = '', bits, ...rest] = value.split('/');
  const family = isIP(ip);
  const wide = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
  if (family === 0 || !wide || rest.length > 0)
    fail(name, value, 'must be IP addresses or CIDR ranges, separated by commas');
  // Every peer would be a proxy then, and X-Forwarded-For what any client likes to write.
  if (bits !== undefined && Number(bits) === 0)
    fail(
      name,
      value,
      'must be the addresses of the load balancers alone, not all there are: /0 would let any client write its own address',
    );
  return value;
}

/** @throws ConfigError naming the first setting that is missing or wrong. */
export function readApiConfig(env: Environment): ApiConfig {
  const apiToken = text(env, 'ASR_API_TOKEN');
  const tokenAdvice = `give at least ${MIN_TOKEN_CHARACTERS} visible ASCII characters without blanks, e.g. from: openssl rand -hex 24`;
  if (apiToken === undefined) fail('ASR_API_TOKEN', undefined, tokenAdvice);
  // The value is a secret, so the message does not repeat it.
  if (!/^[\x21-\x7e]+$/.test(apiToken))
    throw new ConfigError(`ASR_API_TOKEN has blanks, control or non-ASCII characters: ${tokenAdvice}`);
  if (apiToken.length < MIN_TOKEN_CHARACTERS)
    throw new ConfigError(`ASR_API_TOKEN has ${apiToken.length} characters: ${tokenAdvice}`);
  const startCharacters = JSON.stringify(apiToken).length;
  if (startCharacters > MAX_TOKEN_CHARACTERS)
    throw new ConfigError(
      `ASR_API_TOKEN takes ${startCharacters} characters in JSON, over ${MAX_TOKEN_CHARACTERS}, and no browser could start a stream with it (1,024 for the whole message): give a shorter one, e.g. from: openssl rand -hex 24`,
    );

  const host = text(env, 'ASR_HOST') ?? DEFAULT_HOST;
  const port = integer(env, 'ASR_PORT', DEFAULT_PORT, 0, 65_535);
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
  const extraOrigins = list(env, 'ASR_ALLOWED_ORIGINS').map(
    (value) => webUrl('ASR_ALLOWED_ORIGINS', value).origin,
  );
  const admin = integer(env, 'ASR_ADMIN_PORT', -1, 0, 65_535);
  if (admin > 0 && admin === port)
    fail('ASR_ADMIN_PORT', String(admin), 'is the port of the service itself (ASR_PORT): choose another one');
  return {
    ...commonConfig(env),
    host,
    port,
    apiToken,
    allowedClients: list(env, 'ASR_ALLOWED_CLIENTS').map((value) => address('ASR_ALLOWED_CLIENTS', value)),
    allowedOrigins: [
      ...new Set([...DEFAULT_ORIGINS, ...ownOrigins(host, port), ...publicOrigins, ...extraOrigins]),
    ],
    publicBaseUrl: publicBase?.href.replace(/\/+$/, '') ?? `http://127.0.0.1:${port}`,
    trustedProxies: list(env, 'ASR_TRUSTED_PROXIES').map((value) => proxy('ASR_TRUSTED_PROXIES', value)),
    uploadTimeoutMs: integer(env, 'ASR_UPLOAD_TIMEOUT_MS', 30_000, 100, 600_000),
    adminPort: admin === -1 ? undefined : admin,
  };
}

/** The origins of the service's own page as browsers on this machine write them: no port 80, addresses in their short form. */
export function ownOrigins(host: string, port: number): string[] {
  return ['localhost', '127.0.0.1', host]
    .map((name) => localOrigin(name, port))
    .filter((url) => URL.canParse(url))
    .map((url) => new URL(url).origin);
}

/** Where this machine reaches a server that listens on `host`. */
export function localOrigin(host: string, port: number): string {
  switch (host) {
    case '0.0.0.0':
      return `http://127.0.0.1:${port}`;
    case '::':
      return `http://[::1]:${port}`;
    default:
      return host.includes(':') ? `http://[${host}]:${port}` : `http://${host}:${port}`;
  }
}

/** @throws ConfigError naming the first setting that is missing or wrong. */
export function readInferenceConfig(env: Environment): InferenceConfig {
  return {
    ...commonConfig(env),
    model: text(env, 'ASR_MODEL') ?? 'bundled',
    executionProviders: executionProviders(env),
    threads: integer(env, 'ASR_THREADS', defaultThreads(), 1, 64),
  };
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
