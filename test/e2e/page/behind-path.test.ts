import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TOKEN } from '../../support/service/api.ts';
import { launchBrowser, openPage, openReady, WAV } from './browser.ts';
import { type PageService, startPageService } from './service.ts';

const PREFIX = '/asr';

let proxy: Server;
let service: PageService;
let browser: Browser;
let publicUrl: string;

/** To the service without the prefix; whatever has none is another's. */
function forward(incoming: IncomingMessage) {
  const { method, headers, url = '/' } = incoming;
  const path = url.startsWith(`${PREFIX}/`) ? url.slice(PREFIX.length) : '/nothing-here';
  const onward = request(service.directOrigin + path, { method, headers });
  incoming.pipe(onward);
  return onward;
}

beforeAll(async () => {
  proxy = createServer((incoming, outgoing) => {
    forward(incoming).on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
  });
  proxy.on('upgrade', (incoming, client) => {
    forward(incoming).on('upgrade', (answer, upstream, head) => {
      const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`);
      client.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`);
      client.write(head);
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        from.on('error', () => to.destroy());
        from.pipe(to);
      }
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  publicUrl = `http://localhost:${address.port}${PREFIX}`;
  service = await startPageService({ ASR_PUBLIC_BASE_URL: publicUrl });
  await service.startScripted();
  browser = await launchBrowser(WAV);
}, 30_000);

afterAll(async () => {
  await browser?.close();
  proxy.closeAllConnections();
  proxy.close();
  await service?.stop();
});

it('works behind a proxy that serves it under a path', { timeout: 60_000 }, async () => {
  const { tab, page, complaints, addresses } = await openReady(browser, `${publicUrl}/`, 'en-GB');
  await page.locator('#model', { hasText: 'Model scripted (zipformer2-ctc)' }).waitFor();
  // Uploads and streams.
  await tab.choose(WAV);
  expect(await tab.resultText()).not.toBe('');
  await tab.press();
  await tab.live();
  await tab.press();
  await page.locator('.recordings li').nth(1).waitFor();
  expect(addresses).toContain(`${publicUrl.replace('http', 'ws')}/ws/asr`);

  // The documentation.
  await page.getByRole('link', { name: 'Try the API' }).click();
  const readiness = page.locator('[id$="-getReadiness"]');
  await tab.button('Authorize').click();
  await page.locator('.auth-container input').fill(TOKEN);
  await page.locator('.auth-btn-wrapper .authorize').click();
  await page.locator('.auth-btn-wrapper .btn-done').click();
  await readiness.locator('.opblock-summary-control').click();
  await readiness.locator('button.execute').click();
  await readiness.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
  expect(complaints).toEqual([]);
});

it('asks for the stream over TLS where it was read so', async () => {
  const { tab, page, addresses } = await openPage(browser, service.origin);
  const secure = 'https://asr.example';
  await page.route(`${secure}/**`, async (route) => {
    const url = route.request().url().replace(secure, service.origin);
    await route.fulfill({ response: await route.fetch({ url }) });
  });
  await page.goto(secure);
  await tab.signIn();
  // What a worklet asks for passes by the route.
  await page.evaluate(`{
    AudioWorklet.prototype.addModule = async () => {};
    window.AudioWorkletNode = class extends GainNode {
      port = { set onmessage(heard) { heard?.({ data: { type: 'frame', pcm: new Int16Array(1_600) } }); } };
      constructor(context) {
        super(context);
      }
    };
  }`);
  await tab.press();
  await expect.poll(() => addresses).toContain('wss://asr.example/ws/asr');
  // What the page is still asking for by then would be a failure of nobody's.
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});
