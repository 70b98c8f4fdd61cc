import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../common/package-root.ts';
import { wavFile } from '../support/wav.ts';
import {
  figure,
  INSECURE_HOST,
  launchBrowser,
  notice,
  openPage,
  resultText,
  shoot,
  signIn,
} from './page-browser.ts';
import { type PageService, startPageService, TOKEN } from './page-service.ts';

const FIXTURES = join(packageRoot(), 'test', 'fixtures');
const WAV = join(FIXTURES, 'h02.wav');
const TEXT = readFileSync(join(FIXTURES, 'h02.txt'), 'utf8').trim();

const folder = mkdtempSync(join(tmpdir(), 'asr-page-'));
const microphone = join(folder, 'microphone.wav');
let service: PageService;

beforeAll(async () => {
  const speech = readFileSync(WAV).subarray(44);
  writeFileSync(microphone, wavFile(Buffer.concat([speech, speech, speech, speech, speech])));
  service = await startPageService();
}, 30_000);

afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true });
});

async function withBrowser(
  flags: readonly string[],
  use: (browser: Browser) => Promise<void>,
): Promise<void> {
  const browser = await launchBrowser(microphone, flags);
  try {
    await use(browser);
  } finally {
    await browser.close();
  }
}

describe('the page', { timeout: 60_000 }, () => {
  it('waits for the model, ends a recording at 15 s by itself, and explains a page without HTTPS', () =>
    withBrowser([], async (browser) => {
      const { page, complaints } = await openPage(browser, service.origin, 'en-GB');
      await page.locator('#token').fill(TOKEN);
      await page.keyboard.press('Enter');
      await page.locator('#status[data-status="loading"]').waitFor();
      await page.locator('#file').setInputFiles(WAV);
      await notice(page, 'not_ready').waitFor();
      await shoot(page, 'not-ready');
      service.startInference();
      expect(await resultText(page)).toBe(TEXT);

      await page.getByRole('button', { name: 'Start recording' }).press('Enter');
      await page.locator('body[data-state="recording"]').waitFor();
      await page.locator('body[data-state="idle"]').waitFor();
      await resultText(page);
      expect(await figure(page, 'audio_ms')).toBe(15_000);
      expect(await figure(page, 'finalize_ms')).toBeGreaterThan(0);
      await shoot(page, 'limit');
      expect(complaints).toEqual([]);

      const insecure = await openPage(browser, service.origin.replace('127.0.0.1', INSECURE_HOST), 'en-GB');
      await signIn(insecure.page);
      await insecure.page.locator('#record').click();
      await notice(insecure.page, 'page_not_secure').waitFor();
      await shoot(insecure.page, 'not-secure');
      await insecure.page.locator('#file').setInputFiles(WAV);
      expect(await resultText(insecure.page)).toBe(TEXT);
      // There is no clipboard for such a page, and copying works all the same.
      await insecure.page.getByRole('button', { name: 'Copy' }).first().click();
      await insecure.page.getByRole('button', { name: 'Change token' }).click();
      await insecure.page.keyboard.press('Control+V');
      expect(await insecure.page.locator('#token').inputValue()).toBe(TEXT);
    }));

  it('says how to allow a microphone that was refused', () =>
    withBrowser(['--use-fake-ui-for-media-stream=deny'], async (browser) => {
      const { page } = await openPage(browser, service.origin);
      await signIn(page);
      await page.locator('#record').click();
      await notice(page, 'microphone_refused').waitFor();
      await shoot(page, 'microphone-refused');
    }));
});
