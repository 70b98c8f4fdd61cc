import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AsrClient, type Retry } from '../../../client/node.ts';
import { packageRoot } from '../../../common/process/package-root.ts';
import { fixture } from '../../support/audio/fixtures.ts';
import { chromiumPath } from '../../support/machine/chromium.ts';
import { TOKEN } from '../../support/service/api.ts';
import { type RealService, startRealService } from '../../support/service/real-service.ts';

const root = packageRoot();
const { path: recording, wav, text: spoken } = fixture('e12');

let service: RealService;
let client: AsrClient;
/** Serves the built client to browsers, as somebody's own page would. */
let site: Server;
let siteOrigin: string;

beforeAll(async () => {
  site = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://site').pathname);
    response.setHeader('content-type', path.endsWith('.js') ? 'text/javascript' : 'text/html');
    if (path === '/strict') response.setHeader('content-security-policy', "connect-src 'self'");
    response.end(
      path.endsWith('.js') ? readFileSync(join(root, 'client/dist', path)) : '<title>site</title>',
    );
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  siteOrigin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  service = await startRealService({ ASR_ALLOWED_ORIGINS: siteOrigin });
  client = new AsrClient({ url: service.origin, apiToken: TOKEN });
}, 30_000);
afterAll(async () => {
  site.close();
  site.closeAllConnections();
  await service.stop();
});

/** Runs the built command. */
async function asrClient(args: readonly string[], stdin?: Uint8Array) {
  const child = spawn(process.execPath, [join(root, 'client/asr-client.mjs'), ...args], {
    env: { PATH: process.env['PATH'], ASR_URL: service.origin, ASR_API_TOKEN: TOKEN },
  });
  child.stdin.end(stdin);
  const closed = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: (await closed)[0], stdout, stderr };
}

test('the text of a recording, whole and streamed: the same', async () => {
  const result = await client.transcribe(wav);
  expect(result.text).toBe(spoken);
  expect(result.audio_ms).toBe(Math.round((wav.length - 44) / 32));
  expect(result.inference_ms).toBeGreaterThan(0);

  const session = client.stream({ audio: wav });
  const revisions: number[] = [];
  for await (const { revision } of session) revisions.push(revision);
  const final = await session.final;
  expect(final.text).toBe(spoken);
  expect(final.audio_ms).toBe(result.audio_ms);
  expect(revisions.length).toBeGreaterThan(0);
  expect([...revisions, final.revision]).toEqual(
    [...new Set([...revisions, final.revision])].sort((a, b) => a - b),
  );
});

test('the command: a file, standard input as it comes, JSON, ready', async () => {
  expect(await asrClient(['transcribe', recording])).toEqual({ code: 0, stdout: `${spoken}\n`, stderr: '' });
  const streamed = await asrClient(['transcribe', '--stream', '--json', '-'], wav);
  const messages = streamed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(messages.at(-1)).toMatchObject({ file: '-', type: 'final', text: spoken });
  expect(messages[0]).toMatchObject({ file: '-', type: 'partial', revision: expect.any(Number) });
  expect(await asrClient(['ready'])).toEqual({ code: 0, stdout: 'ready\n', stderr: '' });
});

test('busy while another recording is made, then its turn: an upload and the command', async () => {
  const holder = client.stream();
  await holder.ready;
  expect(await client.ready()).toEqual({ status: 'ready', busy: true });
  await expect(client.stream().ready).rejects.toMatchObject({ code: 'busy', closeCode: 1008 });
  const seen: string[] = [];
  const onRetry = ({ error }: Retry) => {
    seen.push(error.code);
    holder.close();
  };
  expect((await client.transcribe(wav, { retry: { onRetry } })).text).toBe(spoken);
  expect(seen[0]).toBe('busy');
});

test('a wrong token: 401, and a handshake refused with 403', async () => {
  const stranger = new AsrClient({ url: service.origin, apiToken: 'a-wrong-token-0123456789' });
  await expect(stranger.ready()).rejects.toMatchObject({ code: 'unauthorized', status: 401 });
  await expect(stranger.transcribe(wav)).rejects.toMatchObject({ code: 'unauthorized', status: 401 });
  await expect(stranger.stream().ready).rejects.toMatchObject({ status: 403, retryable: false });
});

test('in Chromium: an upload from the service’s own origin, the stream from an allowed one; what fails from elsewhere', async () => {
  const browser: Browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  try {
    const page = await browser.newPage();
    // As text, so that the test runner does not take the import for its own.
    const inPage = (module: string, body: string): Promise<unknown> =>
      page.evaluate(`(async () => {
        const { AsrClient, AsrError } = await import('${module}');
        const wav = Uint8Array.from(${JSON.stringify([...wav])});
        const clientWith = (apiToken) => new AsrClient({ url: '${service.origin}', apiToken });
        const client = clientWith('${TOKEN}');
        ${body}
      })()`);

    await page.goto(siteOrigin);
    const streamed = `
      const session = client.stream({ audio: new Blob([wav]) });
      const partials = [];
      for await (const { text } of session) partials.push(text);
      return [partials.length > 0, (await session.final).text];`;
    expect(await inPage('/browser.js', streamed)).toEqual([true, spoken]);
    const refused = `
      const error = await clientWith('a-wrong-token-0123456789').stream().ready.catch((reason) => reason);
      return [error instanceof AsrError, error.code, error.closeCode];`;
    expect(await inPage('/browser.js', refused)).toEqual([true, 'unauthorized', 1008]);

    const foreign = `
      const error = await client.transcribe(wav, { retry: false }).catch((reason) => reason);
      return error.code;`;
    expect(await inPage('/browser.js', foreign)).toBe('network');

    // Forbidden by the page's own policy, which Chromium tells without a close; and to a page of HTTPS, which it throws.
    const forbidden = `
      const error = await client.stream().ready.catch((reason) => reason);
      return [error instanceof AsrError, error.code, error.message];`;
    await page.goto(`${siteOrigin}/strict`);
    expect(await inPage('/browser.js', forbidden)).toEqual([
      true,
      'network',
      expect.stringContaining('Content-Security-Policy'),
    ]);
    await page.route('https://site.example/**', async (route) => {
      const { pathname } = new URL(route.request().url());
      await route.fulfill({ response: await route.fetch({ url: siteOrigin + pathname }) });
    });
    await page.goto('https://site.example/');
    // This machine itself would be let through.
    const inTheClear = "new AsrClient({ url: 'http://asr.example', apiToken: 'x' })";
    expect(await inPage('/browser.js', forbidden.replace(/client/, inTheClear))).toEqual([
      true,
      'network',
      expect.stringContaining('loaded over HTTPS'),
    ]);

    // The service's own origin, with the client's files put there.
    await page.route(`${service.origin}/client/browser.js`, (route) =>
      route.fulfill({ path: join(root, 'client/dist/browser.js') }),
    );
    await page.goto(`${service.origin}/healthz`);
    const uploaded = 'return [(await client.ready()).status, (await client.transcribe(wav)).text];';
    expect(await inPage('/client/browser.js', uploaded)).toEqual(['ready', spoken]);
  } finally {
    await browser.close();
  }
}, 30_000);
