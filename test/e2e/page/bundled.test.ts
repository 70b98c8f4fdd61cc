import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../common/process/package-root.ts';
import { launchBrowser, openPage } from './browser.ts';
import { type PageService, startPageService } from './service.ts';

/** A person's sentence, whose text is the same on processors with and without VNNI instructions. */
const SPOKEN = join(packageRoot(), 'test/fixtures/real-speech/BAC009S0150W0409.wav');
const TEXT = '他笑说自己完全没准备好。';

/** A folder for the pictures of docs/ (CONTRIBUTING.md); none are taken without it. */
const SCREENSHOTS = process.env['PAGE_SCREENSHOTS'];
const VIEWS = { desktop: { width: 1_100, height: 860 }, phone: { width: 390, height: 844 } };

/** On a desktop and a phone, light and dark. */
async function shoot(page: Page): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  await mkdir(SCREENSHOTS, { recursive: true });
  for (const [view, size] of Object.entries(VIEWS)) {
    await page.setViewportSize(size);
    for (const colorScheme of ['light', 'dark'] as const) {
      // Without motion a picture shows the state, not the way there.
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const path = join(SCREENSHOTS, `bundled-${view}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true });
    }
  }
}

let service: PageService;
let browser: Browser;
beforeAll(async () => {
  service = await startPageService();
  browser = await launchBrowser(SPOKEN);
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

describe('the page with the bundled model', { timeout: 60_000 }, () => {
  it('waits for it, and writes what a person says in a file', async () => {
    const { tab, page, complaints } = await openPage(browser, service.origin);
    await tab.signIn('loading');
    await tab.choose(SPOKEN);
    await tab.says('not_ready');
    service.startModel('bundled');
    expect(await tab.resultText()).toBe(TEXT);
    await page.locator('#model', { hasText: '自带模型（Whisper base）' }).waitFor();
    // A picture without the ring of the focus.
    await page.locator('h1').click();
    await shoot(page);
    expect(complaints).toEqual([]);
  });
});
