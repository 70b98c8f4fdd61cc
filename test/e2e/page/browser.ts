import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { packageRoot } from '../../../common/process/package-root.ts';
import { chromiumPath } from '../../support/machine/chromium.ts';
import type { ScriptedRecognizer } from '../../support/service/scripted-recognizer.ts';
import { type PageService, startPageService } from './service.ts';
import { Tab } from './tab.ts';

/** A host name that resolves to this machine and is no secure context, as the service's address in somebody's network. */
export const INSECURE_HOST = 'asr.example';

/** @param microphone a WAV file that the fake microphone plays over and over, from its start for each recording. */
export function launchBrowser(microphone: string): Promise<Browser> {
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
      `--use-file-for-fake-audio-capture=${microphone}`,
      `--host-resolver-rules=MAP ${INSECURE_HOST} 127.0.0.1`,
    ],
  });
}

/** A file's own service and browser, both there for its tests and gone after them. */
interface PageUnderTest {
  readonly service: PageService;
  readonly browser: Browser;
  /** Of the service; there is none where inference is `later`. */
  readonly recognizer: ScriptedRecognizer;
  /** A tab of its own, with the token and a service that is ready. */
  ready(locale?: string): Promise<OpenPage>;
  /** A tab of its own that asks for the token. */
  open(locale?: string): Promise<OpenPage>;
}

/** 4.2 s of speech: what the microphone hears, and a file to choose. */
export const WAV = join(packageRoot(), 'test', 'fixtures', 'h02.wav');

/** Registers with the file how its service and browser begin and end. */
export function pageUnderTest(): PageUnderTest {
  const parts: { service?: PageService; browser?: Browser; recognizer?: ScriptedRecognizer } = {};
  const part = <K extends keyof typeof parts>(name: K): NonNullable<(typeof parts)[K]> => {
    const found = parts[name];
    if (found === undefined) throw new Error(`no ${name} yet`);
    return found;
  };
  beforeAll(async () => {
    const launching = launchBrowser(WAV);
    parts.service = await startPageService();
    parts.recognizer = await parts.service.startScripted();
    parts.browser = await launching;
  });
  afterAll(async () => {
    await parts.browser?.close();
    await parts.service?.stop();
  });
  return {
    get service() {
      return part('service');
    },
    get browser() {
      return part('browser');
    },
    get recognizer() {
      return part('recognizer');
    },
    open: (locale) => openPage(part('browser'), part('service').origin, locale),
    ready: (locale) => openReady(part('browser'), part('service').origin, locale),
  };
}

/** The page in a tab of its own, with what must not happen on any page. */
interface OpenPage {
  readonly tab: Tab;
  readonly page: Page;
  /** Requests to anywhere but the page's own origin, errors on the console (also each breach of the policy), exceptions. */
  readonly complaints: string[];
  /** Every address that was asked for, the stream's too. */
  readonly addresses: string[];
}

export async function openPage(browser: Browser, url: string, locale = 'zh-CN'): Promise<OpenPage> {
  const { origin } = new URL(url);
  const context = await browser.newContext({ locale, viewport: { width: 1_100, height: 860 } });
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
  return { tab: new Tab(page), page, complaints, addresses };
}

/** The page in a tab of its own, with the token and a service that is ready. */
export async function openReady(browser: Browser, url: string, locale?: string): Promise<OpenPage> {
  const opened = await openPage(browser, url, locale);
  await opened.tab.signIn();
  return opened;
}
