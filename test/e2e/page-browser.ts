import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { TOKEN } from './page-service.ts';

/** A folder for pictures of every state, for a person to look at; none are taken without it. */
const SCREENSHOTS = process.env['PAGE_SCREENSHOTS'];

const VIEWS = {
  'desktop-light': { width: 1_100, height: 860, scheme: 'light' },
  'desktop-dark': { width: 1_100, height: 860, scheme: 'dark' },
  'phone-light': { width: 390, height: 844, scheme: 'light' },
  'phone-dark': { width: 390, height: 844, scheme: 'dark' },
} as const;

/** A host name that resolves to this machine and is no secure context, as the service's address in somebody's network. */
export const INSECURE_HOST = 'asr.example';

/** @param microphone a WAV file that the fake microphone plays once, from its start for each recording. */
export function launchBrowser(microphone: string, flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      `--use-file-for-fake-audio-capture=${microphone}%noloop`,
      `--host-resolver-rules=MAP ${INSECURE_HOST} 127.0.0.1`,
      ...flags,
    ],
  });
}

/** The page in a tab of its own, with what must not happen on any page. */
export interface OpenPage {
  readonly page: Page;
  /** Requests to anywhere but the page's own origin, errors on the console (also each breach of the policy), exceptions. */
  readonly complaints: string[];
  /** Every address that was asked for, the stream's too. */
  readonly addresses: string[];
}

export async function openPage(browser: Browser, url: string, locale = 'zh-CN'): Promise<OpenPage> {
  const { origin } = new URL(url);
  const context = await browser.newContext({ locale, viewport: VIEWS['desktop-light'] });
  // Less than a test's own limit, so that a failure names what was waited for.
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  const addresses: string[] = [];
  page.on('request', (request) => {
    addresses.push(request.url());
    if (!/^(blob|data):/.test(request.url()) && new URL(request.url()).origin !== origin) {
      complaints.push(`request to ${request.url()}`);
    }
  });
  page.on('websocket', (socket) => addresses.push(socket.url()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // The browser itself reports answers such as 401 and 409, and connections that were cut.
    const network = /Failed to load resource|WebSocket connection to .* failed/.test(message.text());
    if (message.type() === 'error' && !network) complaints.push(message.text());
  });
  await page.goto(url);
  await page.locator('body[data-state]').waitFor();
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') {
      const shown = page.isClosed() ? 'the page is closed' : await page.locator('body').ariaSnapshot();
      console.error(shown, complaints);
    }
    // Left open, it would be drawn and ask the service for its state until the last test of the file.
    await context.close();
  });
  return { page, complaints, addresses };
}

/** Enters the token and waits until the service is ready. */
export async function signIn(page: Page): Promise<void> {
  await page.locator('#token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.locator('#status[data-status="ready"]').waitFor();
}

/** The page in a tab of its own, with the token and a service that is ready. */
export async function openReady(browser: Browser, url: string, locale?: string): Promise<OpenPage> {
  const opened = await openPage(browser, url, locale);
  await signIn(opened.page);
  return opened;
}

/** Listens to a live region as a screen reader does. @returns what asks for all that it has said since */
export async function listenTo(page: Page, selector: string): Promise<() => Promise<unknown>> {
  await page.evaluate(`
    globalThis.spoken = [];
    const region = document.querySelector('${selector}');
    new MutationObserver(() => spoken.push(region.textContent)).observe(region, { childList: true });
  `);
  return () => page.evaluate('spoken');
}

/** Resolves when at most `seconds` of the 15 are left. */
export async function secondsLeft(page: Page, seconds: number): Promise<void> {
  const numbers = Array.from({ length: seconds + 1 }, (_, left) => left).join('|');
  await page.locator('#left', { hasText: new RegExp(`^(${numbers})$`) }).waitFor();
}

/** What the page says about a failure of this kind, while it does. */
export const notice = (page: Page, kind: string): Locator => page.locator(`#notice[data-kind="${kind}"]`);

/** The large text once a result is there. */
export async function resultText(page: Page): Promise<string | null> {
  await page.locator('#measures dd').first().waitFor();
  return page.locator('#transcript').textContent();
}

/** A figure of the shown result by its name in the interface, in ms. */
export async function figure(page: Page, field: string): Promise<number> {
  const shown = await page.locator(`#measures [title="${field}"] dd`).textContent();
  return Number(shown?.replace(/[^\d]/g, ''));
}

/** The latest recording, as the page saves it. */
export async function savedRecording(page: Page): Promise<Buffer> {
  const saving = page.waitForEvent('download');
  await page.locator('#recordings [download]').first().click();
  return readFile(await (await saving).path());
}

/** Keeps the page's present state as pictures: phone and desktop, light and dark (`PAGE_SCREENSHOTS=.cache/page npx vitest …`). */
export async function shoot(page: Page, state: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  await mkdir(SCREENSHOTS, { recursive: true });
  for (const [view, { width, height, scheme }] of Object.entries(VIEWS)) {
    await page.setViewportSize({ width, height });
    // Without motion a picture shows the state, not the way there.
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: join(SCREENSHOTS, `${state}-${view}.png`), fullPage: true });
  }
}
