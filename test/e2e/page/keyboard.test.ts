import { describe, expect, it } from 'vitest';
import { listenTo, notice, pageUnderTest, resultText, secondsLeft, WAV } from './browser.ts';

const under = pageUnderTest();
const readyPage = async () => (await under.ready('en-GB')).page;

describe('the page without a pointer', () => {
  it('takes an Enter that is held for one press', async () => {
    const page = await readyPage();
    await page.locator('#record:focus').waitFor();
    // The second is what a keyboard repeats. (A third would start again what the second had ended.)
    for (let n = 0; n < 2; n += 1) await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await secondsLeft(page, 14);
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
    await secondsLeft(page, 14);
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
    await secondsLeft(page, 14);
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
    await secondsLeft(page, 14);
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
    under.service.wire.cut();
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
      under.service.wire.mend();
    }
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Open file' }).focus();
    await page.keyboard.press('Enter');
    await (await choosing).setFiles(WAV);
    await resultText(page);
    await page.locator('#record:focus').waitFor();
  });
});

it('is as large as the reader has set it, where there is room', async () => {
  const { page } = await under.open();
  const settings = await page.context().newCDPSession(page);
  await settings.send('Page.setFontSizes', { fontSizes: { standard: 24 } });
  const fontSize = 'getComputedStyle(document.documentElement).fontSize';
  expect(await page.evaluate(fontSize)).toBe('24px');
  await page.setViewportSize({ width: 360, height: 640 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
});

it('shows its round buttons where the system chooses the colours (high contrast)', async () => {
  const page = await readyPage();
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
