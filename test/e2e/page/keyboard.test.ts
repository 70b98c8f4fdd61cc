import { describe, expect, it } from 'vitest';
import { pageUnderTest, WAV } from './browser.ts';
import type { Tab } from './tab.ts';

const under = pageUnderTest();
const ready = () => under.ready('en-GB');

/** The recording has ended, at once and not by its 15 s, and is recognized. */
async function endsNow(tab: Tab): Promise<void> {
  await tab.page.locator('body:not([data-state=recording])').waitFor({ timeout: 5_000 });
  await tab.resultText();
}

/** Touches the record button with one finger. */
async function finger({ page }: Tab) {
  const box = await page.locator('#record').boundingBox();
  const at = { x: (box?.x ?? 0) + 40, y: (box?.y ?? 0) + 40 };
  const browser = await page.context().newCDPSession(page);
  return {
    touch: (type: 'touchStart' | 'touchMove' | 'touchEnd' | 'touchCancel', dx = 0, timestamp?: number) =>
      browser.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: type === 'touchStart' || type === 'touchMove' ? [{ ...at, x: at.x + dx }] : [],
        ...(timestamp === undefined ? {} : { timestamp }),
      }),
  };
}

describe('the record button', () => {
  it('takes an Enter that is held for one press', async () => {
    const { tab, page } = await ready();
    await page.locator('#record:focus').waitFor();
    // The second is what a keyboard repeats. (A third would start again what the second had ended.)
    for (let n = 0; n < 2; n += 1) await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await tab.recorded(1);
    expect(await tab.state()).toBe('recording');
    await page.keyboard.press('Enter');
    await tab.resultText();
    // Or whoever reads the page hears of somebody who still speaks.
    expect(await page.evaluate('document.querySelector("#level").value')).toBe(0);
  });

  it('takes a space bar that is held for talking', async () => {
    const { tab, page } = await ready();
    await page.getByText('The space bar works too.').waitFor();
    await page.locator('#record:focus').waitFor();
    // The second and third are what a keyboard repeats.
    for (let n = 0; n < 3; n += 1) await page.keyboard.down('Space');
    await tab.recorded(1);
    await page.keyboard.up('Space');
    await endsNow(tab);
  });

  it('takes no other use of the space bar, and opens no menu', async () => {
    const { tab, page } = await ready();
    // A long press on a touch screen opens no menu; a held space bar does not scroll the page.
    for (const event of [
      `MouseEvent('contextmenu', { bubbles: true, cancelable: true })`,
      `KeyboardEvent('keydown', { code: 'Space', repeat: true, bubbles: true, cancelable: true })`,
    ]) {
      const isDefault = `document.querySelector('#record').dispatchEvent(new ${event})`;
      expect(await page.evaluate(isDefault)).toBe(false);
    }
    // Away from the button, which any space bar presses; on another button; behind a token.
    await page.locator('#transcript').click();
    await page.keyboard.press('Control+Space');
    await page.locator('#token-change').focus();
    await page.keyboard.press('Space');
    await page.locator('#token:focus').waitFor();
    await page.keyboard.press('End');
    await page.keyboard.press('Space');
    expect(await tab.state()).toBe('idle');
  });

  it('takes an Enter after a touch that was cancelled', async () => {
    const { tab, page } = await ready();
    const { touch } = await finger(tab);
    // A hold that the system ends is over, too.
    await touch('touchStart');
    await tab.recorded(1);
    await touch('touchCancel');
    await endsNow(tab);
    // A short touch is a press, and the next one ends the recording.
    await touch('touchStart');
    await page.locator('#record[data-state=opening], #record[data-state=recording]').waitFor();
    await touch('touchCancel');
    await tab.recorded(1);
    await page.locator('#record').press('Enter');
    await endsNow(tab);
  });

  it('takes an Enter after a touch whose finger moved', async () => {
    const { tab, page } = await ready();
    const { touch } = await finger(tab);
    // So far that the browser sees no click in it, in times that are no hold however busy the machine is.
    const seconds = Date.now() / 1_000;
    await touch('touchStart', 0, seconds);
    await touch('touchMove', 30, seconds + 0.05);
    await touch('touchEnd', 0, seconds + 0.1);
    await tab.recorded(1);
    await page.locator('#record').press('Enter');
    await endsNow(tab);
  });
});

describe('the focus', () => {
  it('goes on past the record button while a Tab is held', async () => {
    const { page } = await ready();
    await page.locator('#record:focus').waitFor();
    await page.locator('#token-change').focus();
    for (let n = 0; n < 3; n += 1) await page.keyboard.down('Tab');
    await page.keyboard.up('Tab');
    expect(await page.evaluate('document.activeElement.id')).not.toBe('record');
  });

  it('stays at "Stop waiting" through the attempts, and is at the record button after a result', async () => {
    const { tab, page } = await ready();
    under.service.wire.cut();
    try {
      const spoken = await tab.listenTo('#status');
      const attempts: string[] = [];
      page.on('request', (request) => request.url().includes('/v1/') && attempts.push(request.url()));
      await tab.choose(WAV);
      await tab.button('Stop waiting').focus();
      await expect.poll(() => attempts.length).toBeGreaterThan(2);
      expect(await page.locator('#notice button:focus').count()).toBe(1);
      // Said once, and not again with every attempt; nor does the service's state begin anew.
      expect(await page.locator('#announcement').textContent()).toContain('tries again by itself');
      const checks = (await spoken()).filter((words) => words === 'Checking');
      expect(checks.length).toBeLessThanOrEqual(1);
      await page.keyboard.press('Enter');
      await tab.says('cancelled');
      await page.locator('#record:focus').waitFor();
    } finally {
      under.service.wire.mend();
    }
    const choosing = page.waitForEvent('filechooser');
    await tab.button('Open file').press('Enter');
    await (await choosing).setFiles(WAV);
    await tab.resultText();
    await page.locator('#record:focus').waitFor();
  });
});

it('the page is as large as the reader has set it, where there is room', async () => {
  const { page } = await under.open();
  const settings = await page.context().newCDPSession(page);
  await settings.send('Page.setFontSizes', { fontSizes: { standard: 24 } });
  const fontSize = 'getComputedStyle(document.documentElement).fontSize';
  expect(await page.evaluate(fontSize)).toBe('24px');
  await page.setViewportSize({ width: 360, height: 640 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
});

it('the page shows its round buttons where the system chooses the colours (high contrast)', async () => {
  const { tab, page } = await ready();
  await tab.choose(WAV);
  await tab.resultText();
  for (const button of ['#record', '.play']) {
    const colour = `getComputedStyle(document.querySelector('${button}')).backgroundColor`;
    // Without motion, or the colour would still be on its way.
    await page.emulateMedia({ forcedColors: 'none', reducedMotion: 'reduce' });
    const own = await page.evaluate(colour);
    await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
    expect(await page.evaluate(colour), button).toBe(own);
  }
});
