import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../common/package-root.ts';
import { countErrors } from '../eval/error-rate.ts';
import { launchBrowser, openReady, resultText, shoot } from './page-browser.ts';
import { type PageService, startPageService } from './page-service.ts';

/** A person's sentence, whose text is the same on processors with and without VNNI instructions. */
const SPOKEN = join(packageRoot(), 'test/fixtures/real-speech/BAC009S0150W0409.wav');
const TEXT = '他笑说自己完全没准备好。';

let service: PageService;
let browser: Browser;
beforeAll(async () => {
  service = await startPageService();
  service.startInference('bundled');
  browser = await launchBrowser(SPOKEN);
}, 30_000);
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

describe('the page with the bundled model', { timeout: 60_000 }, () => {
  it('writes what a person says, in a file and into the microphone', async () => {
    const { page, complaints } = await openReady(browser, service.origin);
    await page.locator('#model', { hasText: '模型 bundled (whisper)' }).waitFor();
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: '选择文件' }).click();
    await (await choosing).setFiles(SPOKEN);
    await page.locator('#transcript', { hasText: TEXT }).waitFor();

    await page.locator('#record').focus();
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: '结束录音' }).waitFor();
    // The partials grow as it is spoken.
    await page.locator('#transcript:has(.changing)', { hasText: /.{8}/ }).waitFor();
    await shoot(page, 'bundled-recording');
    await page.keyboard.press('Space');
    await page.locator('#status[data-status="ready"]').waitFor();
    await page.locator('#transcript:not(:has(.changing))', { hasText: /.{8}/ }).waitFor();
    await shoot(page, 'bundled-final');
    // The browser has resampled it twice.
    const { wrong, total } = countErrors(TEXT, (await resultText(page)) ?? '');
    expect(wrong).toBeLessThan(total / 2);
    expect(complaints).toEqual([]);
  });
});
