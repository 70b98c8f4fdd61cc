import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../common/process/package-root.ts';
import { choose, launchBrowser, notice, openPage, resultText, shoot, signIn } from './browser.ts';
import { type PageService, startPageService } from './service.ts';

/** A person's sentence, whose text is the same on processors with and without VNNI instructions. */
const SPOKEN = join(packageRoot(), 'test/fixtures/real-speech/BAC009S0150W0409.wav');
const TEXT = '他笑说自己完全没准备好。';

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
    const { page, complaints } = await openPage(browser, service.origin);
    await signIn(page, 'loading');
    await choose(page, SPOKEN);
    await notice(page, 'not_ready').waitFor();
    await shoot(page, 'not-ready');
    service.startModel('bundled');
    expect(await resultText(page)).toBe(TEXT);
    await page.locator('#model', { hasText: '模型 bundled (whisper)' }).waitFor();
    // A picture without the ring of the focus.
    await page.locator('h1').click();
    await shoot(page, 'bundled');
    expect(complaints).toEqual([]);
  });
});
