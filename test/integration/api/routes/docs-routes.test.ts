import fs from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { startApi, type TestApi } from '../../../support/service/api.ts';

let redis: TestRedis;
let api: TestApi;
beforeAll(async () => {
  redis = await startRedis();
  api = await startApi(redis.url, { ASR_PUBLIC_BASE_URL: 'https://asr.example.com' });
});
afterAll(async () => {
  await api.stop();
  await redis.stop();
});

const text = async (
  path: string,
): Promise<{ status: number; type: string; body: string; headers: Headers }> => {
  const response = await fetch(api.origin + path);
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    body: await response.text(),
    headers: response.headers,
  };
};

describe('/openapi.json', () => {
  test('is OpenAPI 3.1, version 1.0.0, only the HTTP interface, with exactly the statuses of the interface', async () => {
    const { status, type, body } = await text('/openapi.json');
    expect(status).toBe(200);
    expect(type).toContain('application/json');
    // What the page alone asks for: which model answers.
    expect(body).not.toMatch(/model\.json|family/);
    const document: {
      openapi: string;
      info: { version: string; description: string; license: object };
      paths: Record<string, Record<string, { responses: object }>>;
    } = JSON.parse(body);
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info.version).toBe('1.0.0');
    expect(document.info.license).toEqual({ name: 'Apache-2.0', identifier: 'Apache-2.0' });
    expect(document.info.description).toMatch(/405 .*Allow/);
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [
        `${method} ${path}`,
        Object.keys(operation.responses).sort(),
      ]),
    );
    expect(Object.fromEntries(operations)).toEqual({
      'get /healthz': ['200'],
      'get /readyz': ['200', '401', '403', '503'],
      'post /v1/audio/transcriptions': ['200', '400', '401', '403', '408', '409', '413', '422', '500', '503'],
    });
  });

  test('says of each operation whether it needs the token, also that one does not', async () => {
    const { paths } = JSON.parse((await text('/openapi.json')).body);
    expect(paths['/healthz'].get.security).toEqual([]);
    expect(paths['/readyz'].get.security).toEqual([{ bearer: [] }]);
    expect(paths['/v1/audio/transcriptions'].post.security).toEqual([{ bearer: [] }]);
    for (const { responses } of [paths['/readyz'].get, paths['/v1/audio/transcriptions'].post]) {
      expect(responses[401].headers['WWW-Authenticate']).toMatchObject({ schema: { enum: ['Bearer'] } });
      for (const status of [409, 503].filter((status) => status in responses))
        expect(responses[status].headers['Retry-After']).toMatchObject({ schema: { enum: [1] } });
      expect(responses[200].headers).toBeUndefined();
    }
  });

  test('names the resources as the interface does, and the upload form', async () => {
    const { body } = await text('/openapi.json');
    const document = JSON.parse(body);
    expect(Object.keys(document.components.schemas).sort()).toEqual([
      'ApiError',
      'HTTPValidationError',
      'HealthResult',
      'ReadyResult',
      'TranscriptionResult',
      'ValidationError',
    ]);
    expect(document.components.schemas.TranscriptionResult.required).toEqual([
      'text',
      'audio_ms',
      'inference_ms',
    ]);
    const form = document.paths['/v1/audio/transcriptions'].post.requestBody;
    expect(form.required).toBe(true);
    expect(Object.keys(form.content)).toEqual(['multipart/form-data']);
    expect(form.content['multipart/form-data'].schema).toMatchObject({
      required: ['file'],
      properties: { file: { format: 'binary' } },
    });
    expect(form.content['multipart/form-data'].encoding).toEqual({ file: { contentType: 'audio/wav' } });
    const servers: { url: string }[] = document.servers;
    expect(servers.map(({ url }) => url)).toEqual(['/', 'https://asr.example.com']);
  });
});

test('/api-reference.md is Markdown with the service address filled in, covering HTTP and the stream', async () => {
  const { status, type, body } = await text('/api-reference.md');
  expect(status).toBe(200);
  expect(type).toBe('text/markdown; charset=utf-8');
  expect(body).not.toContain('{base_url}');
  for (const word of [
    '/v1/audio/transcriptions',
    '/ws/asr',
    '/readyz',
    'overloaded',
    'finalize_ms',
    'https://asr.example.com',
  ]) {
    expect(body).toContain(word);
  }
  // In a shell: one that knows patterns takes the brackets of an IPv6 address for one.
  expect(body).not.toMatch(/^(curl|npx) (.* )?https:/m);
});

test('/api-reference is the same as a page, with its own style sheet and the service address filled in', async () => {
  const { status, type, body, headers } = await text('/api-reference');
  expect([status, type]).toEqual([200, 'text/html; charset=utf-8']);
  expect(body).toContain('The address of this service is <code>https://asr.example.com</code>');
  expect(body).toContain('<link rel="stylesheet" href="api-reference.css">');
  expect(body).not.toMatch(/<(script|img|style)/);
  expect(headers.get('content-security-policy')).toContain("script-src 'self'");
});

describe('the reference in Chinese', () => {
  const chinese = '本服务的地址是 <code>https://asr.example.com</code>';
  const english = 'The address of this service is <code>https://asr.example.com</code>';

  test.each([
    ['/api-reference', 'zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN', chinese],
    ['/api-reference', 'en,zh;q=0.9', 'en', english],
    ['/api-reference.zh-CN', 'en', 'zh-CN', chinese],
    ['/api-reference.en', 'zh-CN', 'en', english],
  ])('%s for a browser that prefers %s is %s', async (path, header, language, words) => {
    const response = await fetch(api.origin + path, { headers: { 'accept-language': header } });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(await response.text()).toContain(words);
    expect(response.headers.get('content-language')).toBe(language);
    // A cache between them keeps both languages of the one address.
    expect(response.headers.get('vary')).toBe(path === '/api-reference' ? 'Accept-Language' : null);
  });

  test('a copy in one language is not taken for the other', async () => {
    const get = (language: string, tag = '') =>
      fetch(`${api.origin}/api-reference`, {
        headers: { 'accept-language': language, 'if-none-match': tag },
      });
    const tag = (await get('zh-CN')).headers.get('etag') ?? '';
    const kept = await get('zh-CN', tag);
    expect([kept.status, kept.headers.get('vary')]).toEqual([304, 'Accept-Language']);
    expect((await get('en', tag)).status).toBe(200);
  });

  test('its Markdown has an address of its own, with the same browser examples', async () => {
    const { status, type, body } = await text('/api-reference.zh-CN.md');
    expect([status, type]).toEqual([200, 'text/markdown; charset=utf-8']);
    expect(body).toContain('本服务的地址是 `https://asr.example.com`');
    expect(body).not.toContain('{base_url}');
    for (const file of ['upload.html', 'dictate.html'])
      expect(body).toContain(`\`\`\`html\n${(await text(`/examples/${file}`)).body}\`\`\``);
  });
});

describe('/examples/', () => {
  test.each(['upload.html', 'dictate.html'])('%s is the file that the reference shows', async (file) => {
    const { status, type, body, headers } = await text(`/examples/${file}`);
    expect([status, type]).toEqual([200, 'text/html; charset=utf-8']);
    expect((await text('/api-reference.md')).body).toContain(`\`\`\`html\n${body}\`\`\``);
    // Its script stands in it, and it still talks to this service only.
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'unsafe-inline' blob:;");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("connect-src 'self'");
  });

  test.each(['transcribe.mjs', 'none.html', '..%2Findex.html', ''])('"%s" is not there', async (file) => {
    expect((await text(`/examples/${file}`)).status).toBe(404);
  });
});

describe('pages', () => {
  test.each(['/', '/api-docs'])('%s names no other host and runs no inline script', async (path) => {
    const { status, type, body } = await text(path);
    expect(status).toBe(200);
    expect(type).toContain('text/html');
    expect(body).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(body).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>|\son\w+=/);
    if (path === '/') expect(body).not.toMatch(/<style|\sstyle=|https?:\/\//);
  });

  test('what the pages may do is what they need, and nobody shows them in a frame of his own', async () => {
    const common = [
      "default-src 'none'",
      "script-src 'self'",
      'media-src blob:',
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ];
    const trusted = ["require-trusted-types-for 'script'", "trusted-types 'none'"];
    const page = [...common, "style-src 'self'", "img-src 'self'", ...trusted];
    for (const [path, directives] of [
      ['/', page],
      ['/page/main.js', page],
      ['/api-docs', [...common, "style-src 'self' 'unsafe-inline'", "img-src 'self' data:"]],
    ] as const) {
      const { headers } = await text(path);
      const policy = (headers.get('content-security-policy') ?? '')
        .split(/; ?/)
        .filter((part) => part !== '');
      expect(policy.sort(), path).toEqual([...directives].sort());
      if (path !== '/api-docs') expect(headers.get('referrer-policy'), path).toBe('no-referrer');
    }
  });

  test('the documentation has no other service judge it, and no bar to open other descriptions', async () => {
    const { body } = await text('/api-docs/static/swagger-initializer.js');
    const config = JSON.parse(/const config = (.*)/.exec(body)?.[1] ?? '');
    expect(config).toMatchObject({ validatorUrl: null, layout: 'BaseLayout' });
  });

  test('every file that a page names is served, with its type', async () => {
    for (const page of ['/', '/api-docs']) {
      const { body } = await text(page);
      const files = [...body.matchAll(/(?:src|href)="([^"#]+)"/g)].map((match) => match[1] ?? '');
      expect(files.length).toBeGreaterThan(1);
      for (const file of files) {
        const answer = await text(new URL(file, `${api.origin}${page}`).pathname);
        expect([file, answer.status]).toEqual([file, 200]);
        if (file.endsWith('.js')) expect(answer.type).toContain('javascript');
        if (file.endsWith('.css')) expect(answer.type).toContain('text/css');
      }
    }
  });

  test('the page is at most 97,000 bytes in all, uncompressed, with the words of both languages', async () => {
    const names = ['main.js', 'capture-worklet.js', 'page.css', 'icon.svg'];
    const files = await Promise.all(['/', ...names.map((name) => `/page/${name}`)].map(text));
    expect(files.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(Buffer.byteLength(files.map(({ body }) => body).join(''))).toBeLessThanOrEqual(97_000);
  });

  test.each([
    '/page/..%2F..%2Fpackage.json',
    '/page/%2e%2e%2fapp.js',
    '/page/index.html',
    '/page/none.js',
    '/page/a.js%00',
  ])('%s is not found', async (path) => {
    expect((await text(path)).status).toBe(404);
  });
});

test('without a public address the documents name the one that they are read at', async () => {
  const own = await startApi(redis.url);
  try {
    for (const origin of [own.origin, own.origin.replace('127.0.0.1', 'localhost')]) {
      const description: unknown = await (await fetch(`${origin}/openapi.json`)).json();
      expect(description).toMatchObject({ servers: [{ url: '/' }] });
      const reference = await (await fetch(`${origin}/api-reference.md`)).text();
      expect(reference).toContain(`${origin}/v1/audio/transcriptions`);
    }
    const { hostname, port } = new URL(own.origin);
    const headers = { host: '"><script>' };
    const answer = await new Promise<IncomingMessage>((resolve) =>
      request({ hostname, port, path: '/api-reference.md', headers }, resolve).end(),
    );
    expect(await textOf(answer)).not.toContain('<script>/');
  } finally {
    await own.stop();
  }
});

test('of a proxy on this machine that serves it under a path they name that', async () => {
  const own = await startApi(redis.url, { ASR_PUBLIC_BASE_URL: 'http://127.0.0.1:17780/asr' });
  try {
    const document: unknown = await (await fetch(`${own.origin}/openapi.json`)).json();
    expect(document).toMatchObject({ servers: [{ url: 'http://127.0.0.1:17780/asr' }, { url: '/' }] });
    const reference = await (await fetch(`${own.origin}/api-reference.md`)).text();
    expect(reference).toContain('The address of this service is `http://127.0.0.1:17780/asr`');
  } finally {
    await own.stop();
  }
});

test('behind a trusted proxy they name the address that it says, if it is one', async () => {
  const own = await startApi(redis.url, { ASR_TRUSTED_PROXIES: '127.0.0.1' });
  const named = async (protocol: string, host: string): Promise<string | undefined> => {
    const headers = { 'x-forwarded-proto': protocol, 'x-forwarded-host': host };
    const reference = await (await fetch(`${own.origin}/api-reference.md`, { headers })).text();
    return /The address of this service is `(.*)`/.exec(reference)?.[1];
  };
  try {
    expect(await named('https', 'asr.example.com')).toBe('https://asr.example.com');
    for (const [protocol, host] of [
      ['https"; id #', 'asr.example.com'],
      ['https', 'asr.example.com"; id #'],
    ] as const)
      expect(await named(protocol, host)).toBe(own.config.publicBaseUrl);
  } finally {
    await own.stop();
  }
});

describe('what is read', () => {
  const PATHS = [
    '/',
    '/page/main.js',
    '/page/page.css',
    '/page/icon.svg',
    '/api-docs',
    '/api-docs/json',
    '/api-docs/static/swagger-ui.css',
    '/openapi.json',
    '/api-reference.md',
    '/api-reference.zh-CN.md',
    '/api-reference',
    '/api-reference.en',
    '/api-reference.zh-CN',
    '/api-reference.css',
    '/examples/upload.html',
  ];

  test.each([...PATHS, '/healthz'])('%s answers HEAD as GET, without a body', async (path) => {
    const get = await text(path);
    const head = await fetch(api.origin + path, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(await head.text()).toBe('');
    expect(head.headers.get('content-length')).toBe(`${Buffer.byteLength(get.body)}`);
    for (const name of ['content-type', 'etag', 'cache-control', 'content-security-policy'])
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
  });

  test.each(PATHS)('%s is what its type says, whatever it looks like', async (path) => {
    expect((await text(path)).headers.get('x-content-type-options')).toBe('nosniff');
  });

  test.each(PATHS)('%s is sent again only when it has changed', async (path) => {
    const { headers } = await text(path);
    expect(headers.get('cache-control')).toMatch(/^(no-cache|public, max-age=0)$/);
    const tag = headers.get('etag') ?? '';
    expect(tag).toMatch(/^(W\/)?"[^"]+"$/);
    for (const method of ['GET', 'HEAD']) {
      // As browsers ask; without it `fetch` adds `no-cache`, which asks for the whole file.
      const ask = (ifNoneMatch: string): Promise<Response> =>
        fetch(api.origin + path, {
          method,
          headers: { 'if-none-match': ifNoneMatch, 'cache-control': 'max-age=0' },
        });
      for (const same of [tag, `"other", ${tag}`, `W/${tag.replace('W/', '')}`, '*']) {
        const answer = await ask(same);
        expect([method, same, answer.status]).toEqual([method, same, 304]);
        expect(await answer.text()).toBe('');
        expect(answer.headers.get('etag')).toBe(tag);
      }
      expect((await ask('"other"')).status).toBe(200);
    }
  });

  test('a file of the page that cannot be read is a fault, not a path that does not exist', async () => {
    vi.spyOn(fs, 'readFile').mockRejectedValue(Object.assign(new Error('EMFILE'), { code: 'EMFILE' }));
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    const { status, body } = await text('/page/main.js');
    expect([status, body]).toEqual([500, expect.stringContaining('server_error')]);
  });

  test('what is not there has no tag', async () => {
    const response = await fetch(`${api.origin}/page/none.js`, { headers: { 'if-none-match': '*' } });
    expect(response.status).toBe(404);
    expect(response.headers.get('etag')).toBeNull();
  });
});
