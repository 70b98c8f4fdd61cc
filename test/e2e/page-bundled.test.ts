import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
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
  it('writes what a person says in a file', async () => {
    const { page, complaints } = await openReady(browser, service.origin);
    await page.locator('#model', { hasText: '模型 bundled (whisper)' }).waitFor();
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: '选择文件' }).click();
    await (await choosing).setFiles(SPOKEN);
    await page.locator('#transcript', { hasText: TEXT }).waitFor();
    expect(await resultText(page)).toBe(TEXT);
    await shoot(page, 'bundled');
    expect(complaints).toEqual([]);
  });
});
