import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { wavFile } from '../../support/audio/wav.ts';
import { scriptedPcm } from '../../support/service/scripted-recognizer.ts';
import { pageUnderTest, WAV } from './browser.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const under = pageUnderTest();

/** A folder for pictures of each state; none are taken without it. */
const SCREENSHOTS = process.env['PAGE_SCREENSHOTS'];
const VIEWS = { desktop: { width: 1_280, height: 800 }, phone: { width: 390, height: 664 } };
const SCHEMES = ['light', 'dark'] as const;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What axe-core finds in the page as it is now: all its rules, and in the dark those about colours. */
async function problems(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found: string[] = [];
  for (const colorScheme of SCHEMES) {
    // Without motion, or colours would still be on their way.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const options = colorScheme === 'dark' ? '{ runOnly: ["color-contrast"] }' : '{}';
    const violations: Violation[] = await page.evaluate(
      `axe.run(${options}).then((found) => found.violations)`,
    );
    for (const { id, nodes } of violations)
      found.push(...nodes.map(({ html }) => `${colorScheme} ${id}: ${html}`));
  }
  return found;
}

async function shoot(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  await mkdir(SCREENSHOTS, { recursive: true });
  for (const [view, size] of Object.entries(VIEWS)) {
    await page.setViewportSize(size);
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const path = join(SCREENSHOTS, `${name}-${view}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true });
    }
  }
}

const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'audio/wav', buffer });
const silence = (seconds: number): Buffer => wavFile(Buffer.alloc(seconds * 32_000));

/** Small as in a browser that shows its bars. */
it.each(['zh-CN', 'en-GB'])('a phone shows the record button without scrolling, in %s', async (locale) => {
  const { tab, page } = await under.open(locale);
  await page.setViewportSize({ width: 390, height: 600 });
  const language = await page.locator('#language').boundingBox();
  const inSight = async (): Promise<void> => {
    expect(await page.evaluate('scrollY')).toBe(0);
    const box = await page.locator('#record').boundingBox();
    expect((box?.y ?? 600) + (box?.height ?? 0)).toBeLessThanOrEqual(600);
    // What leads to the other language stays where it is, whatever is to be read.
    expect(await page.locator('#language').boundingBox()).toEqual(language);
  };
  await inSight();
  await tab.signIn();
  await page.locator('#model', { hasText: 'scripted' }).waitFor();
  await inSight();
  await tab.choose(WAV);
  await tab.resultText();
  await inSight();
  // A row is short: its words, its sound with what is done with it, and what is known of it.
  await tab.choose(WAV);
  await page.locator('#recordings li').waitFor();
  const row = await page.locator('#recordings li').boundingBox();
  expect(row?.height).toBeLessThan(140);
  await page.locator('#language').click();
  expect(await page.locator('#language').boundingBox()).toEqual(language);
});

describe('axe-core finds nothing', { timeout: 120_000 }, () => {
  it.each(['zh-CN', 'en-GB'])('on the page in any of its states, in %s', async (locale) => {
    const { tab, page, complaints } = await under.open(locale);
    const found: string[] = [];
    const state = async (name: string): Promise<void> => {
      found.push(...(await problems(page)).map((problem) => `${name}: ${problem}`));
      await shoot(page, `${name}-${locale.slice(0, 2)}`);
    };
    await state('1-token');
    await tab.enterToken('wrong');
    await tab.says('unauthorized');
    await state('2-wrong-token');
    await tab.signIn();
    await page.locator('#model', { hasText: 'scripted' }).waitFor();
    await state('3-ready');

    await tab.press();
    await tab.live();
    await state('4-recording');
    await tab.press();
    await tab.resultText();
    await state('5-result');

    const held: Route[] = [];
    await page.route('**/v1/**', (route) => void held.push(route));
    await tab.choose(WAV, file('会议记录.wav', silence(3)), file('long.wav', wavFile(scriptedPcm(60))));
    await expect.poll(() => held.length).toBe(1);
    await state('6-batch');
    await held[0]?.fulfill({ status: 409, json: { error: 'busy', message: 'busy' } });
    await tab.says('busy');
    await state('7-busy');
    await page.setViewportSize(VIEWS.phone);
    const box = await page.locator('#record').boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(VIEWS.phone.height);
    await page.unroute('**/v1/**');
    await tab.until('idle');
    await state('8-files');
    await tab.choose(
      file('微信语音.silk', Buffer.from('\x02#!SILK_V3')),
      file('memo.amr', Buffer.from('#!AMR\n')),
    );
    await page.locator('.name', { hasText: 'memo' }).waitFor();
    await page.locator('#latest button').click();
    await state('9-deleted');

    await page.evaluate(
      `navigator.mediaDevices.getUserMedia = () => Promise.reject({ name: 'NotAllowedError' })`,
    );
    await tab.press();
    await tab.says('microphone_refused');
    await state('10-no-microphone');
    expect(found).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('leads to the reference in the page’s language', async () => {
    const { page } = await under.open('zh-CN');
    await page.locator('a[href="api-reference.zh-CN"]').click();
    await page.locator('html[lang="zh-CN"] h1').waitFor();
    expect(new URL(page.url()).pathname).toBe('/api-reference.zh-CN');
  });

  it.each(['/api-reference.en', '/api-reference.zh-CN'])('in %s', async (path) => {
    const { page } = await under.open('en-GB');
    await page.goto(under.service.origin + path);
    expect(await problems(page)).toEqual([]);
    // There are more to be scrolled.
    await page.setViewportSize(VIEWS.phone);
    expect(await problems(page)).toEqual([]);
  });
});
