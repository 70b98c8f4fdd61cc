import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import {
  INSECURE_HOST,
  launchBrowser,
  listenTo,
  notice,
  openPage,
  openReady,
  resultText,
  secondsLeft,
  signIn,
} from './page-browser.ts';
import { type PageService, startPageService } from './page-service.ts';

const WAV = join(packageRoot(), 'test', 'fixtures', 'h08.wav');

let service: PageService;
let browser: Browser;

beforeAll(async () => {
  service = await startPageService();
  service.startInference('quick');
  browser = await launchBrowser(WAV);
}, 30_000);

afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

const readyPage = async () => (await openReady(browser, service.origin, 'en-GB')).page;

describe('the page without a pointer', { timeout: 60_000 }, () => {
  it('takes an Enter that is held for one press', async () => {
    const page = await readyPage();
    await page.locator('#record:focus').waitFor();
    // The second is what a keyboard repeats. (A third would start again what the second had ended.)
    for (let n = 0; n < 2; n += 1) await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await secondsLeft(page, 13);
    expect(await page.locator('body').getAttribute('data-state')).toBe('recording');
    await page.keyboard.press('Enter');
    await resultText(page);
    // Or whoever reads the page hears of somebody who still speaks.
    expect(await page.evaluate('document.querySelector("#level").value')).toBe(0);
  });

  it('takes a space bar that is held for talking, and no other use of it', async () => {
    const page = await readyPage();
    const state = () => page.locator('body').getAttribute('data-state');
    await page.getByText('The space bar works too.').waitFor();
    await page.locator('#record').click({ button: 'right' });
    // A long press on a touch screen opens no menu; a held space bar does not scroll the page.
    for (const event of [
      `MouseEvent('contextmenu', { bubbles: true, cancelable: true })`,
      `KeyboardEvent('keydown', { code: 'Space', repeat: true, bubbles: true, cancelable: true })`,
    ])
      expect(await page.evaluate(`document.querySelector('#record').dispatchEvent(new ${event})`)).toBe(
        false,
      );
    // Away from the button, which any space bar presses.
    await page.locator('#transcript').click();
    await page.keyboard.press('Control+Space');
    expect(await state()).toBe('idle');
    await page.locator('#token-change').focus();
    await page.keyboard.press('Space');
    await page.locator('#token:focus').waitFor();
    // Behind the token, which is selected.
    await page.keyboard.press('End');
    await page.keyboard.press('Space');
    expect(await state()).toBe('idle');
    await page.keyboard.press('Enter');
    await page.locator('#record:focus').waitFor();
    // The second and third are what a keyboard repeats.
    for (let n = 0; n < 3; n += 1) await page.keyboard.down('Space');
    await secondsLeft(page, 13);
    await page.keyboard.up('Space');
    await page.locator('body:not([data-state=recording])').waitFor({ timeout: 5_000 });
    await resultText(page);
  });

  it('takes an Enter after a touch that was cancelled', async () => {
    const page = await readyPage();
    const box = await page.locator('#record').boundingBox();
    const touch = await page.context().newCDPSession(page);
    const touchPoints = [{ x: (box?.x ?? 0) + 40, y: (box?.y ?? 0) + 40 }];
    // A hold that the system ends is over, too.
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints });
    await secondsLeft(page, 14);
    await touch.send('Input.dispatchTouchEvent', { type: 'touchCancel', touchPoints: [] });
    await page.locator('body:not([data-state=recording])').waitFor({ timeout: 5_000 });
    await resultText(page);
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints });
    await page.locator('#record[data-state=opening], #record[data-state=recording]').waitFor();
    await touch.send('Input.dispatchTouchEvent', { type: 'touchCancel', touchPoints: [] });
    await secondsLeft(page, 13);
    await page.locator('#record').focus();
    await page.keyboard.press('Enter');
    await page.locator('body:not([data-state=recording])').waitFor({ timeout: 5_000 });
    await resultText(page);
  });

  it('takes an Enter after a touch whose finger moved', async () => {
    const page = await readyPage();
    const box = await page.locator('#record').boundingBox();
    const touch = await page.context().newCDPSession(page);
    const at = { x: (box?.x ?? 0) + 40, y: (box?.y ?? 0) + 40 };
    // So far that the browser sees no click in it, in times that are no hold however busy the machine is.
    const seconds = Date.now() / 1_000;
    const moved = { ...at, x: at.x + 30 };
    for (const [type, touchPoints, timestamp] of [
      ['touchStart', [at], seconds],
      ['touchMove', [moved], seconds + 0.05],
      ['touchEnd', [], seconds + 0.1],
    ] as const) {
      await touch.send('Input.dispatchTouchEvent', { type, touchPoints: [...touchPoints], timestamp });
    }
    await secondsLeft(page, 13);
    await page.locator('#record').focus();
    await page.keyboard.press('Enter');
    await page.locator('body:not([data-state=recording])').waitFor({ timeout: 5_000 });
    await resultText(page);
  });

  it('lets a Tab that is held go on past the record button', async () => {
    const page = await readyPage();
    await page.locator('#record:focus').waitFor();
    await page.locator('#token-change').focus();
    for (let n = 0; n < 3; n += 1) await page.keyboard.down('Tab');
    await page.keyboard.up('Tab');
    expect(await page.evaluate('document.activeElement.id')).not.toBe('record');
  });

  it('leaves nobody without a place: at "Stop waiting" through the attempts, then at the record button', async () => {
    const page = await readyPage();
    service.wire.cut();
    try {
      const spoken = await listenTo(page, '#status');
      await page.locator('#file').setInputFiles(WAV);
      const stop = page.getByRole('button', { name: 'Stop waiting' });
      await stop.focus();
      await page.locator('#notice', { hasText: '(3 of 9)' }).waitFor();
      // Nor does the service's state begin anew with every attempt.
      const checks = ((await spoken()) as string[]).filter((words) => words === 'Checking');
      expect(checks.length).toBeLessThanOrEqual(1);
      expect(await page.locator('#notice button:focus').count()).toBe(1);
      // Said once, and not again with every attempt.
      expect(await page.locator('#announcement').textContent()).toContain('(1 of 9)');
      await page.keyboard.press('Enter');
      await notice(page, 'cancelled').waitFor();
      await page.locator('#record:focus').waitFor();
    } finally {
      service.wire.mend();
    }
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Open file' }).focus();
    await page.keyboard.press('Enter');
    await (await choosing).setFiles(WAV);
    await resultText(page);
    await page.locator('#record:focus').waitFor();
  });
});

it('works in a browser that keeps nothing for pages, until the page is loaded again', async () => {
  const { page, complaints } = await openPage(browser, service.origin);
  const denied = `Object.defineProperty(window, 'sessionStorage', {
    get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); },
  });`;
  await page.addInitScript(denied);
  await page.reload();
  await page.locator('#token:focus').waitFor();
  await signIn(page);
  await page.locator('#file').setInputFiles(WAV);
  await resultText(page);
  expect(complaints).toEqual([]);
});

it('does not wait for a service that no longer answers when the record button is pressed', async () => {
  const page = await readyPage();
  await page.clock.install();
  await page.evaluate(`{
    AudioWorklet.prototype.addModule = () => new Promise(() => {});
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
  await page.locator('#record').click();
  await page.locator('body[data-state="opening"]').waitFor();
  await page.clock.fastForward(10_000);
  await notice(page, 'connection_lost').waitFor();
  await page.locator('body[data-state="idle"]').waitFor();
  // The microphone, open already, is let go.
  const tracks = 'opened.getTracks().map(({ readyState }) => readyState)';
  await expect.poll(() => page.evaluate(tracks)).toEqual(['ended']);
  await expect.poll(() => page.evaluate('recordingContext.state')).toBe('closed');
});

it('says that a microphone gives no sound at all', async () => {
  const page = await readyPage();
  await page.clock.install();
  await page.evaluate(`AudioContext.prototype.createMediaStreamSource = () => ({
    connect() { document.body.dataset.open = ''; },
    disconnect() {},
  })`);
  await page.locator('#record').click();
  await page.locator('body[data-open]').waitFor();
  await page.clock.fastForward(4_000);
  await notice(page, 'microphone_silent').waitFor();
  await page.locator('body[data-state="idle"]').waitFor();
});

it('copies without a clipboard of its own (no HTTPS), and stays at the button', async () => {
  const { page } = await openReady(browser, `http://${INSECURE_HOST}:${service.wire.port}`, 'en-GB');
  await page.locator('#file').setInputFiles(WAV);
  await resultText(page);
  await page.locator('.facts button').focus();
  await page.keyboard.press('Enter');
  await page.locator('.facts button:focus', { hasText: 'Copied' }).waitFor();
  expect(await page.locator('#announcement').textContent()).toBe('Copied');
  // Nothing is left that a Tab would lead to.
  expect(await page.locator('textarea').count()).toBe(0);
});

it('is as large as the reader has set it, where there is room', async () => {
  const large = await launchBrowser(WAV, ['--blink-settings=defaultFontSize=24']);
  try {
    const { page } = await openPage(large, service.origin);
    const fontSize = 'getComputedStyle(document.documentElement).fontSize';
    expect(await page.evaluate(fontSize)).toBe('24px');
    await page.setViewportSize({ width: 360, height: 640 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  } finally {
    await large.close();
  }
});

it('shows its round buttons where the system chooses the colours (high contrast)', async () => {
  const { page } = await openReady(browser, service.origin);
  await page.locator('#file').setInputFiles(WAV);
  await resultText(page);
  for (const button of ['#record', '.play']) {
    const colour = `getComputedStyle(document.querySelector('${button}')).backgroundColor`;
    // Without motion, or the colour would still be on its way.
    await page.emulateMedia({ forcedColors: 'none', reducedMotion: 'reduce' });
    const own = await page.evaluate(colour);
    await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
    expect(await page.evaluate(colour), button).toBe(own);
  }
});
