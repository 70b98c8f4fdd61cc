import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { packageRoot } from '../../../common/process/package-root.ts';
import { TOKEN } from '../../support/api.ts';
import { chromiumPath } from '../../support/chromium.ts';
import { type ScriptedRecognizer, scriptedText } from '../../support/scripted-recognizer.ts';
import { type PageService, startPageService } from './service.ts';

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

export const HEADER_BYTES = 44;

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

export async function enterToken(page: Page, token = TOKEN): Promise<void> {
  await page.locator('#token').fill(token);
  await page.keyboard.press('Enter');
}

/** Enters the token and waits until the service is ready, or in another state. */
export async function signIn(page: Page, state = 'ready'): Promise<void> {
  await enterToken(page);
  await status(page, state);
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

/** Presses the record button. */
export const press = (page: Page): Promise<void> => page.locator('#record').click();

/** The page is in this state: `idle`, `opening`, `recording` or `recognizing`. */
export const inState = (page: Page, state: string): Promise<void> =>
  page.locator(`body[data-state="${state}"]`).waitFor();

export const stateOf = (page: Page): Promise<string | null> =>
  page.locator('body').getAttribute('data-state');

/** Chooses a file as a person does in the browser's dialogue. */
export const choose = (page: Page, file: string | FileContent): Promise<void> =>
  page.locator('#file').setInputFiles(file);

export interface FileContent {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

/** From now on the page's scripts have what it records with: `opened`, the microphone's stream, and `recordingContext`. */
export async function watchMicrophone(page: Page): Promise<void> {
  await page.evaluate(`{
    const devices = navigator.mediaDevices;
    const open = devices.getUserMedia.bind(devices);
    devices.getUserMedia = async (constraints) => (window.opened = await open(constraints));
    window.AudioContext = class extends AudioContext {
      constructor() {
        super();
        window.recordingContext = this;
      }
    };
  }`);
}

/** The browser shows no microphone in use any more. Only with `watchMicrophone`. */
export const microphoneLetGo = (page: Page): Promise<void> =>
  expect.poll(() => page.evaluate('window.opened?.getTracks()[0].readyState')).toBe('ended');

/** Resolves when at most `seconds` of the 15 are left: nothing of what is to be seen happens before. */
export async function secondsLeft(page: Page, seconds: number): Promise<void> {
  const numbers = Array.from({ length: seconds }, (_, left) => left).join('|');
  await page.locator('#left', { hasText: new RegExp(`^(${numbers})\\.`) }).waitFor();
}

/** The page has partial text on its screen. */
export const live = (page: Page): Promise<void> => page.locator('#transcript:has(.changing)').waitFor();

/** The service's state beside the title is this. */
export const status = (page: Page, name: string): Promise<void> =>
  page.locator(`#status[data-status="${name}"]`).waitFor();

/** What the page says about a failure of this kind, while it does. */
export const notice = (page: Page, kind: string): Locator => page.locator(`#notice[data-kind="${kind}"]`);

/** The large text once a result is there. */
export async function resultText(page: Page): Promise<string | null> {
  await page.locator('#latest dd').first().waitFor();
  return page.locator('#latest .said').textContent();
}

/**
 * The result, which is the text of the samples that the page keeps: nothing was lost, doubled or cut on the way to the scripted recognizer.
 */
export async function heardText(page: Page): Promise<string> {
  const text = await resultText(page);
  const samples = (await savedRecording(page)).subarray(HEADER_BYTES);
  expect(text).toBe(scriptedText(samples));
  expect(await figure(page, 'audio_ms')).toBe(Math.round(samples.length / 32));
  return text ?? '';
}

/** A figure of the shown result by its name in the interface, in ms. */
export async function figure(page: Page, field: string): Promise<number> {
  const title = await page.locator(`#latest [title^="${field}"]`).getAttribute('title');
  return Number(title?.split(' ')[1]);
}

/** The latest recording, as the page saves it. */
export async function savedRecording(page: Page): Promise<Buffer> {
  const saving = page.waitForEvent('download');
  await page.locator('#latest [download]').click();
  return readFile(await (await saving).path());
}

/** Keeps the page's present state as pictures: phone and desktop, light and dark (`PAGE_SCREENSHOTS=.cache/page npm run test:file -- …`). */
export async function shoot(page: Page, state: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  await mkdir(SCREENSHOTS, { recursive: true });
  for (const [view, { width, height, scheme }] of Object.entries(VIEWS)) {
    await page.setViewportSize({ width, height });
    // Without motion a picture shows the state, not the way there.
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: join(SCREENSHOTS, `${state}-${view}.png`), fullPage: true });
  }
  await page.setViewportSize(VIEWS['desktop-light']);
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
}
