import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { isBlockedPort, ownOrigins } from '../../../../common/config/addresses.ts';
import { readApiConfig, readInferenceConfig } from '../../../../common/config/config.ts';
import { ConfigError } from '../../../../common/config/config-error.ts';
import { defaultThreads, physicalCores } from '../../../../common/config/cpu-threads.ts';

const required = { ASR_API_TOKEN: '0123456789abcdef', REDIS_URL: 'redis://127.0.0.1:6379' };
const api = (env: Record<string, string>) => readApiConfig({ ...required, ...env });
const inference = (env: Record<string, string>) => readInferenceConfig({ ...required, ...env });

describe('defaults', () => {
  test('are those of the settings table', () => {
    const config = api({});
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8088,
      keyPrefix: '{asr}',
      allowedClients: [],
      trustedProxies: [],
      uploadTimeoutMs: 30_000,
      uploadMemoryBytes: 64_000_000,
      admin: undefined,
      logLevel: 'info',
    });
    expect(config.allowedOrigins).toEqual(['http://localhost:8088', 'http://127.0.0.1:8088']);
    expect(inference({})).toMatchObject({
      model: 'bundled',
      executionProviders: 'auto',
      hotwords: undefined,
      languageModel: true,
      admin: undefined,
    });
    expect(inference({}).threads).toBeGreaterThanOrEqual(1);
    expect(inference({}).threads).toBeLessThanOrEqual(4);
  });
  test('an empty value is an unset one', () => {
    expect(api({ ASR_PORT: '', ASR_ADMIN_PORT: ' ' })).toMatchObject({ port: 8088, admin: undefined });
  });
});

describe('values', () => {
  // https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
  test.each([
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console' }, true],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, false],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, false],
  ])('%j: traces %j', (env, traces) => {
    expect(api(env).traces).toBe(traces);
    expect(inference(env).traces).toBe(traces);
  });
  test('the public origin and further ones join the two defaults', () => {
    const config = api({
      ASR_PUBLIC_BASE_URL: 'https://asr.example.com/',
      ASR_ALLOWED_ORIGINS: 'https://a.example, https://b.example:8443/',
    });
    expect(config.publicBaseUrl).toBe('https://asr.example.com');
    expect(config.allowedOrigins).toEqual([
      'http://localhost:8088',
      'http://127.0.0.1:8088',
      'https://asr.example.com',
      'https://a.example',
      'https://b.example:8443',
    ]);
  });
  test.each([
    [{ ASR_PORT: '9000' }, 'http://127.0.0.1:9000'],
    [{ ASR_PORT: '80' }, 'http://localhost'],
    [{ ASR_HOST: '0.0.0.0', ASR_PORT: '9000' }, 'http://localhost:9000'],
    [{ ASR_HOST: '::' }, 'http://[::1]:8088'],
    [{ ASR_HOST: 'FD00:0::1' }, 'http://[fd00::1]:8088'],
    [{ ASR_HOST: '10.0.0.5', ASR_PORT: '80' }, 'http://10.0.0.5'],
    [{ ASR_PUBLIC_BASE_URL: 'https://asr.example.com', ASR_PORT: '9000' }, 'http://127.0.0.1:9000'],
    [{ ASR_ALLOWED_ORIGINS: 'https://例子.example' }, 'https://xn--fsqu00a.example'],
    [{ ASR_ALLOWED_ORIGINS: 'https://a.example,Capacitor://localhost/' }, 'capacitor://localhost'],
    [{ ASR_ALLOWED_ORIGINS: 'chrome-extension://abcdefghij' }, 'chrome-extension://abcdefghij'],
    [{ ASR_ALLOWED_ORIGINS: 'tauri://localhost:1420' }, 'tauri://localhost:1420'],
    [{ ASR_ALLOWED_ORIGINS: 'https://[fd00:0::5]:8443' }, 'https://[fd00::5]:8443'],
    [{ ASR_ALLOWED_ORIGINS: 'null' }, 'null'],
    [{ ASR_ALLOWED_ORIGINS: 'https://a.example,file://' }, 'file://'],
    [{ ASR_ALLOWED_ORIGINS: 'ws://10.0.0.5:9000' }, 'ws://10.0.0.5:9000'],
    [{ ASR_ALLOWED_ORIGINS: 'wss://asr.example.com' }, 'wss://asr.example.com'],
    [{ ASR_ALLOWED_ORIGINS: 'app://.' }, 'app://.'],
    [{ ASR_HOST: 'fe80::1%eth0' }, 'http://127.0.0.1:8088'],
  ])('%j lets the page of %s stream', (settings, origin) => {
    const { host, port, allowedOrigins } = api(settings);
    expect([...allowedOrigins, ...ownOrigins(host, port)]).toContain(origin);
  });
  test('a public address with a path is published as it works', () => {
    const config = api({ ASR_PUBLIC_BASE_URL: 'HTTPS://ASR.example.com:443/asr//' });
    expect(config.publicBaseUrl).toBe('https://asr.example.com/asr');
    expect(config.allowedOrigins).toContain('https://asr.example.com');
  });
  test('without a public address, the documents name the port', () => {
    expect(api({ ASR_PORT: '9000' }).publicBaseUrl).toBe('http://127.0.0.1:9000');
  });
  test('the largest of what may be', () => {
    const proxies = ['10.0.0.5', '10.0.0.5/32', '2001:db8::/64', '2001:db8::5/128'];
    expect(api({ ASR_PORT: '65535', ASR_TRUSTED_PROXIES: proxies.join() })).toMatchObject({
      port: 65_535,
      trustedProxies: proxies,
    });
  });
  test.each(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])('ASR_LOG_LEVEL=%s', (level) => {
    expect(api({ ASR_LOG_LEVEL: level }).logLevel).toBe(level);
  });
  test('every form of REDIS_URL', () => {
    expect(api({ REDIS_URL: 'rediss://u:p@h:7000/2' }).redis).toEqual({
      kind: 'single',
      url: 'rediss://u:p@h:7000/2',
    });
    expect(api({ REDIS_URL: 'redis+sentinel://user:p%40ss@s1:26380,s2/mymaster/3' }).redis).toEqual({
      kind: 'sentinel',
      sentinels: [
        { host: 's1', port: 26_380 },
        { host: 's2', port: 26_379 },
      ],
      name: 'mymaster',
      options: { username: 'user', password: 'p@ss', db: 3 },
    });
    expect(api({ REDIS_URL: 'redis+cluster://[::1]:7001, h:7002,k' }).redis).toEqual({
      kind: 'cluster',
      nodes: [
        { host: '::1', port: 7001 },
        { host: 'h', port: 7002 },
        { host: 'k', port: 6379 },
      ],
      options: {},
    });
    const node = { host: 'h', port: 7001 };
    expect(api({ REDIS_URL: 'redis+cluster://:secret@h:7001/' }).redis).toEqual({
      kind: 'cluster',
      nodes: [node],
      options: { password: 'secret' },
    });
    expect(api({ REDIS_URL: 'redis+sentinel://us%40er:@h:7001/m' }).redis).toEqual({
      kind: 'sentinel',
      sentinels: [node],
      name: 'm',
      options: { username: 'us@er' },
    });
  });
  const cpuinfo = (...cores: [socket: number, core: number][]): string =>
    cores
      .map(([socket, core], n) => `processor\t: ${n}\nphysical id\t: ${socket}\ncore id\t\t: ${core}\n`)
      .join('\n');
  test('physical cores are pairs of socket and core, where Linux says so', () => {
    expect(physicalCores(cpuinfo([0, 0], [0, 1], [0, 0], [0, 1]))).toBe(2);
    expect(physicalCores(cpuinfo([0, 0], [0, 1], [0, 2], [0, 3]))).toBe(4);
    expect(physicalCores(cpuinfo([0, 0], [1, 0]))).toBe(2);
    expect(physicalCores('processor\t: 0\nBogoMIPS\t: 243.75\n')).toBeUndefined();
    expect(physicalCores('')).toBeUndefined();
  });
  test.skipIf(process.platform !== 'linux').each([
    ['eight cores', cpuinfo(...[0, 1, 2, 3, 4, 5, 6, 7].map((core): [number, number] => [0, core])), 8, 4],
    ['three cores with two threads each', cpuinfo([0, 0], [0, 1], [0, 2], [0, 0], [0, 1], [0, 2]), 6, 3],
    ['four cores, of which a container may use two', cpuinfo([0, 0], [0, 1], [0, 2], [0, 3]), 2, 2],
    ['three processors of which Linux does not say', 'processor\t: 0\nBogoMIPS\t: 243.75\n', 3, 3],
  ])('threads without a setting, on %s', (_machine, text, usable, threads) => {
    vi.spyOn(fs, 'readFileSync').mockReturnValue(text);
    vi.spyOn(os, 'availableParallelism').mockReturnValue(usable);
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    expect(defaultThreads()).toBe(threads);
  });
  test('execution providers', () => {
    expect(inference({ ASR_EXECUTION_PROVIDERS: 'auto' }).executionProviders).toBe('auto');
    expect(inference({ ASR_EXECUTION_PROVIDERS: 'cuda, cpu' }).executionProviders).toEqual(['cuda', 'cpu']);
    expect(inference({ ASR_EXECUTION_PROVIDERS: 'webgpu' }).executionProviders).toEqual(['webgpu']);
  });
});

describe('where metrics are shown', () => {
  const token = 'an-admin-token-of-24-chars';
  const both = (env: Record<string, string>) => [
    api({ ...env, ASR_ADMIN_PORT: '9464' }).admin,
    inference({ ...env, ASR_INFERENCE_ADMIN_PORT: '9464' }).admin,
  ];
  test.each(['127.0.0.1', '127.0.0.3', '::1', '0:0:0:0:0:0:0:1', 'localhost'])(
    'on %s, which only this machine reaches, no token is needed',
    (host) => {
      const admin = { host, port: 9464, token: undefined };
      expect(both({ ASR_ADMIN_HOST: host })).toEqual([admin, admin]);
    },
  );
  test.each(['0.0.0.0', '::', '10.0.0.5', 'asr.internal', '127.0.0.1.example'])(
    'on %s the token is needed, and no process starts without it',
    (host) => {
      const line = `ASR_ADMIN_HOST="${host}": is an address that other machines reach: set ASR_ADMIN_TOKEN`;
      expect(() => api({ ASR_ADMIN_HOST: host, ASR_ADMIN_PORT: '9464' })).toThrow(line);
      expect(() => inference({ ASR_ADMIN_HOST: host, ASR_INFERENCE_ADMIN_PORT: '9464' })).toThrow(line);
      const admin = { host, port: 9464, token };
      expect(both({ ASR_ADMIN_HOST: host, ASR_ADMIN_TOKEN: token })).toEqual([admin, admin]);
    },
  );
  test('without a port nothing is shown, and the address does not matter', () => {
    expect(api({ ASR_ADMIN_HOST: '0.0.0.0' }).admin).toBeUndefined();
    expect(api({ ASR_INFERENCE_ADMIN_PORT: '9464' }).admin).toBeUndefined();
    expect(inference({ ASR_ADMIN_PORT: '9464' }).admin).toBeUndefined();
  });
  test('a token that is too short is refused on loopback, too, and not repeated', () => {
    const read = () => both({ ASR_ADMIN_TOKEN: 'short-secret' });
    expect(read).toThrow('ASR_ADMIN_TOKEN has 12 characters: give at least 16');
    expect(read).not.toThrow('short-secret');
  });
});

const ALONE = 'but an origin is scheme, host and port alone';
describe('wrong values stop the start with one line that names the setting, the value and what to write', () => {
  test.each([
    ['REDIS_URL', 'http://x', 'redis://'],
    ['REDIS_URL', 'REDIS://u:p@h', '="REDIS://***@h": it must begin with redis://'],
    ['REDIS_URL', 'redis+sentinel://s1:1', 'NAME'],
    ['REDIS_URL', 'redis+cluster://h:x', 'host:port'],
    ['REDIS_URL', 'redis+cluster://h:70000', '"h:70000" is not host:port'],
    ['REDIS_URL', 'redis+cluster://h:65536', '"h:65536" is not host:port'],
    ['REDIS_URL', 'redis+cluster://h:0', '"h:0" is not host:port'],
    ['REDIS_URL', 'redis+cluster://h:7001/1', 'a Cluster has no databases'],
    ['REDIS_URL', 'redis+cluster://h:7001/x/2', 'a Cluster has no databases'],
    ['ASR_ALLOWED_ORIGINS', 'https://*.example.com', 'must be single origins'],
    ['ASR_ALLOWED_ORIGINS', 'https://a.example;https://b.example', 'separated by commas'],
    ['ASR_PUBLIC_BASE_URL', 'https://a.example,https://b.example', 'must have a host'],
    ['REDIS_URL', 'redis://h:1/cache', 'number of a database'],
    ['REDIS_URL', 'redis://:5%@h:1', '%25'],
    ['REDIS_URL', 'redis://5%:secret@h:1', '%25'],
    ['REDIS_URL', 'redis://:a/b@h:1', '/ is written %2F'],
    ['REDIS_URL', 'redis+sentinel://u:5%@h:1/m', '%25'],
    ['ASR_PORT', '70000', '65535'],
    ['ASR_PORT', '-1', 'whole number'],
    ['ASR_PORT', 'tcp://10.96.12.7:8088', 'enableServiceLinks: false'],
    ['ASR_PORT', '80\n90', 'ASR_PORT="80\\u{a}90": must be a whole number'],
    ['ASR_PORT', '6000', 'no browser and no fetch connects to'],
    ['ASR_ADMIN_PORT', 'on', 'whole number'],
    ['ASR_ADMIN_PORT', '8088', 'the port of the service itself (ASR_PORT)'],
    ['ASR_UPLOAD_TIMEOUT_MS', '3.5', 'whole number'],
    ['ASR_UPLOAD_TIMEOUT_MS', '99', 'from 100 to 600000'],
    ['ASR_UPLOAD_TIMEOUT_MS', '600001', 'from 100 to 600000'],
    ['ASR_UPLOAD_MEMORY_MB', '0', 'from 1 to 100000'],
    ['ASR_KEY_PREFIX', 'asr', '{asr}'],
    ['ASR_KEY_PREFIX', '{a}{b}', '{asr}'],
    ['ASR_KEY_PREFIX', 'asr{}', '{asr}'],
    ['ASR_KEY_PREFIX', 'a {b}', '{asr}'],
    ['ASR_KEY_PREFIX', '{a b}', '{asr}'],
    ['ASR_ALLOWED_CLIENTS', '10.0.0.0/8', 'single IP'],
    ['ASR_ALLOWED_CLIENTS', 'localhost', 'single IP'],
    ['ASR_ALLOWED_ORIGINS', 'example.com', 'https://asr.example.com'],
    ['ASR_ALLOWED_ORIGINS', 'localhost:8088', 'http://'],
    ['ASR_ALLOWED_ORIGINS', 'https://a.example/app', `has the path /app, ${ALONE}: write https://a.example`],
    [
      'ASR_ALLOWED_ORIGINS',
      'https://a.example,http://b:81/c/',
      `="http://b:81/c/": has the path /c/, ${ALONE}`,
    ],
    ['ASR_ALLOWED_ORIGINS', 'https://a.example?x=1', `has the path /?x=1, ${ALONE}`],
    ['ASR_ALLOWED_ORIGINS', 'https://a.example/#x', `has the path /#x, ${ALONE}`],
    ['ASR_ALLOWED_ORIGINS', 'capacitor://localhost/i.html', `${ALONE}: write capacitor://localhost`],
    ['ASR_ALLOWED_ORIGINS', 'file://page/index.html', 'write null'],
    ['ASR_ALLOWED_ORIGINS', 'file:///home/me/page.html', 'write null'],
    ['ASR_ALLOWED_ORIGINS', 'https://us:pw@a.example', '="https://***@a.example": must be without a user'],
    ['ASR_ALLOWED_ORIGINS', 'chrome-extension://*', 'must be single origins'],
    ['ASR_PUBLIC_BASE_URL', 'ftp://x', 'http://'],
    ['ASR_PUBLIC_BASE_URL', 'https://asr.example.com/asr?token=1', 'without "?" and "#"'],
    ['ASR_PUBLIC_BASE_URL', 'https://asr.example.com/#asr', 'without "?" and "#"'],
    ['ASR_PUBLIC_BASE_URL', 'https://us@er:pw@a.example', '="https://***@a.example": must be without a user'],
    ['ASR_PUBLIC_BASE_URL', 'https://u:p\nw@a.example', '="https://***@a.example": must be without a user'],
    ['ASR_PUBLIC_BASE_URL', 'https://user@a.example', '="https://***@a.example": must be without a user'],
    ['ASR_PUBLIC_BASE_URL', 'https://:pw@a.example', '="https://***@a.example": must be without a user'],
    ['ASR_TRUSTED_PROXIES', 'balancer/24', 'CIDR'],
    ['ASR_TRUSTED_PROXIES', '10.0.0.0/33', 'CIDR'],
    ['ASR_TRUSTED_PROXIES', '2001:db8::/129', 'CIDR'],
    ['ASR_TRUSTED_PROXIES', '0.0.0.0/0', '/0 would let any client write its own address'],
    ['ASR_TRUSTED_PROXIES', '0.0.0.0/00', '/0 would let any client write its own address'],
    ['ASR_TRUSTED_PROXIES', '10.0.0.1,::/0', '/0 would let any client write its own address'],
    ['ASR_TRUSTED_PROXIES', '10.0.0.0/8/8', 'CIDR'],
    ['ASR_LOG_LEVEL', 'verbose', 'info'],
  ])('%s=%s', (name, value, advice) => {
    const read = () => api({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(name);
    expect(read).toThrow(advice);
    expect(read).not.toThrow('\n');
  });
  test.each([
    ['ASR_THREADS', '0', '1 to 64'],
    ['ASR_LANGUAGE_MODEL', 'no', 'must be on or off'],
    ['ASR_INFERENCE_ADMIN_PORT', 'on', 'whole number'],
    ['ASR_EXECUTION_PROVIDERS', 'CUDA', 'auto'],
    ['ASR_EXECUTION_PROVIDERS', 'cpu,tpu', '="cpu,tpu": tpu is not known'],
    ['ASR_EXECUTION_PROVIDERS', 'auto,cpu', '="auto,cpu": auto stands alone'],
    ['ASR_EXECUTION_PROVIDERS', 'cuda, auto', '="cuda,auto": auto stands alone'],
  ])('%s=%s', (name, value, advice) => {
    expect(() => inference({ [name]: value })).toThrow(name);
    expect(() => inference({ [name]: value })).toThrow(advice);
  });
  test('ASR_PORT may be any port but those that fetch refuses', async () => {
    const blocked = Array.from({ length: 65_536 }, (_, port) => port).filter(isBlockedPort);
    const refusals = blocked.map(async (port) => {
      const error: unknown = await fetch(`http://127.0.0.1:${port}/`).catch((reason: unknown) => reason);
      return error instanceof Error && error.cause instanceof Error ? error.cause.message : 'connected';
    });
    expect(blocked.length).toBeGreaterThan(70);
    expect(new Set(await Promise.all(refusals))).toEqual(new Set(['bad port']));
  });
  test('two equal ports are wrong, but for 0: two that are free', () => {
    expect(() => api({ ASR_PORT: '9000', ASR_ADMIN_PORT: '9000' })).toThrow('ASR_ADMIN_PORT="9000"');
    expect(api({ ASR_PORT: '0', ASR_ADMIN_PORT: '0' })).toMatchObject({ port: 0, admin: { port: 0 } });
  });
  test('a missing one', () => {
    expect(() => readApiConfig({ REDIS_URL: required.REDIS_URL })).toThrow('ASR_API_TOKEN is not set');
    expect(() => readApiConfig({ ASR_API_TOKEN: required.ASR_API_TOKEN })).toThrow('REDIS_URL is not set');
  });
  test('secrets are not repeated', () => {
    expect(() => api({ ASR_API_TOKEN: 'short-secret' })).toThrow('12 characters');
    expect(() => api({ ASR_API_TOKEN: 'short-secret' })).not.toThrow('short-secret');
    for (const token of [
      'with blank 0123456789',
      'with-tab\t0123456789',
      'with-delete\x7f0123456789',
      '密码密码密码密码密码密码密码密码',
    ]) {
      expect(() => api({ ASR_API_TOKEN: token })).toThrow('blanks, control or non-ASCII characters');
      expect(() => api({ ASR_API_TOKEN: token })).not.toThrow(token);
    }
    for (const url of [
      'rredis://user:secret@h',
      // Written as it is instead of percent-encoded, which is why the address cannot be used.
      'redis+sentinel://user:a/secret@secret@h:1/m',
      'redis+cluster://user:secret/a@h:1',
      'user:secret@h:6379',
      'user:sec\nsecret@h:6379',
      ':secret@h',
      'redis:/:secret@h',
      'http://h/x?a\n&password=secret',
    ]) {
      expect(() => api({ REDIS_URL: url })).toThrow('REDIS_URL="');
      expect(() => api({ REDIS_URL: url })).not.toThrow('secret');
    }
  });
  test('a token with which no browser could start a stream is refused', () => {
    expect(api({ ASR_API_TOKEN: 'x'.repeat(898) }).apiToken).toHaveLength(898);
    expect(() => api({ ASR_API_TOKEN: 'x'.repeat(899) })).toThrow('901 characters in JSON, over 900');
    expect(() => api({ ASR_API_TOKEN: `x${'"'.repeat(449)}x` })).toThrow('902 characters in JSON, over 900');
  });
  test('a token in the quotes that docker keeps is refused by name, without being repeated', () => {
    for (const quoted of ['"0123456789abcdef"', "'0123456789abcdef'"]) {
      expect(() => api({ ASR_API_TOKEN: quoted })).toThrow(
        'ASR_API_TOKEN stands in quotes, which are kept by docker',
      );
      expect(() => api({ ASR_API_TOKEN: quoted })).not.toThrow('0123456789');
    }
    expect(api({ ASR_API_TOKEN: '"0123456789abcdef' }).apiToken).toBe('"0123456789abcdef');
  });
  test('a token of 15 characters is refused, one of 16 accepted', () => {
    expect(() => api({ ASR_API_TOKEN: 'x'.repeat(15) })).toThrow(ConfigError);
    expect(api({ ASR_API_TOKEN: 'x'.repeat(16) }).apiToken).toHaveLength(16);
  });
});
