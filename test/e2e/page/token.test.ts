import { describe, expect, it } from 'vitest';
import { TOKEN } from '../../support/api.ts';
import { notice, openPage, pageUnderTest, resultText, shoot, WAV } from './browser.ts';

const under = pageUnderTest();
/** Where the browser keeps the token. */
const STORED = `JSON.stringify([sessionStorage['asr-token'], localStorage['asr-token'], document.cookie])`;

describe('the token', () => {
  it('is asked for again when it is wrong, says so once, and is forgotten with the tab', async () => {
    const { page, complaints, addresses } = await under.open('en-GB');
    const field = page.locator('#token');
    for (const wrong of ['错误的令牌', 'not-the-token-at-all']) {
      await field.fill(wrong);
      await page.getByRole('button', { name: 'Use token' }).click();
      await notice(page, 'unauthorized').waitFor();
      expect(await page.locator('#token:focus').count()).toBe(1);
      // At its field, which names it as its own; seen as a whole in a small window, or a large zoom.
      const named = page.getByRole('textbox', { name: 'Access token' });
      expect(await named.getAttribute('aria-invalid')).toBe('true');
      expect(await named.getAttribute('aria-describedby')).toBe('notice token-hint');
      expect(await notice(page, 'unauthorized').getAttribute('data-tone')).toBe('problem');
    }
    expect(await page.locator('#status').textContent()).toBe('');
    await shoot(page, 'wrong-token');
    // To compare it with what one was given.
    for (const pressed of [true, false]) {
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await page.getByRole('button', { name: 'Show', exact: true, pressed }).waitFor();
      const shown = await page.evaluate(
        "getComputedStyle(document.querySelector('#token')).webkitTextSecurity",
      );
      expect(shown).toBe(pressed ? 'none' : 'disc');
    }
    for (const [width, height] of [
      [640, 400],
      [320, 256],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.evaluate('scrollTo(0, 0)');
      await page.getByRole('button', { name: 'Use token' }).click();
      await notice(page, 'unauthorized').waitFor();
      // Not `waitForFunction`: the page's policy forbids its looking again.
      const inSight = `(() => {
        const { top, bottom } = document.querySelector('#token-form #notice').getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight + 1;
      })()`;
      await expect.poll(() => page.evaluate(inSight)).toBe(true);
    }
    // Also where the check at the start has not seen it: the service itself refuses the recording.
    await page.locator('#record').click();
    // Long before 15 s: nobody has to speak on to nobody.
    await page.locator('#latest li').waitFor({ timeout: 10_000 });
    await notice(page, 'unauthorized').waitFor();
    expect((await page.locator('main').textContent())?.split('not accept this token')).toHaveLength(2);
    await page.setViewportSize({ width: 1_100, height: 860 });
    await shoot(page, 'wrong-token-recorded');
    // Nor is it sent once more, as after other failures.
    expect(addresses.filter((address) => address.includes('/v1/'))).toEqual([]);
    // Copied with what stood around it.
    await field.fill(` ${TOKEN}  `);
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="ready"]').waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('false');
    expect(await field.getAttribute('aria-describedby')).toBe('token-hint');
    expect(await page.locator('#token-form #notice').count()).toBe(0);
    await page.getByRole('button', { name: 'Try again' }).click();
    await resultText(page);
    await page.reload();
    await page.locator('#status[data-status="ready"]').waitFor();
    // Who has entered nothing is led nowhere.
    expect(await page.locator('#record:focus').count()).toBe(0);
    // As WebKit does, without an event, when somebody comes back to the page from another one.
    await page.evaluate(`document.querySelector('#token').value = ''`);
    await page.locator('#file').setInputFiles(WAV);
    await resultText(page);
    await page.getByRole('button', { name: 'Change token' }).click();
    expect(await field.inputValue()).toBe(TOKEN);
    expect(await page.evaluate(STORED)).toBe(JSON.stringify([TOKEN, null, '']));
    expect(complaints).toEqual([]);
  });

  it('is remembered on this device where that is asked for, until it is taken back', async () => {
    const { page } = await under.open('en-GB');
    const remember = page.getByRole('checkbox', { name: 'Remember the token on this device' });
    expect(await remember.isChecked()).toBe(false);
    await remember.check();
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="ready"]').waitFor();
    expect(await page.evaluate(STORED)).toBe(JSON.stringify([null, TOKEN, '']));
    // In another tab of the same browser, which has nothing of this one.
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.locator('#status[data-status="ready"]').waitFor();
    await other.getByRole('button', { name: 'Change token' }).click();
    await other.getByRole('checkbox', { checked: true }).uncheck();
    expect(await other.evaluate(STORED)).toBe(JSON.stringify([TOKEN, null, '']));
    await other.close();
    await page.reload();
    await page.locator('#token:focus').waitFor();
    expect(await remember.isChecked()).toBe(false);
  });

  it('may be put into the field without an input event', async () => {
    const { page, complaints } = await under.open('en-GB');
    await page.evaluate(`document.querySelector('#token').value = '${TOKEN}'`);
    await page.getByRole('button', { name: 'Use token' }).click();
    await page.locator('#status[data-status="ready"]').waitFor({ timeout: 5_000 });
    expect(await page.locator('#token').inputValue()).toBe(TOKEN);
    await page.getByRole('button', { name: 'Change token' }).click();
    await page.locator('#token:focus').waitFor();
    expect(await page.getByRole('button', { name: 'Change token' }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('lasts until the page is loaded again in a browser that keeps nothing for pages', async () => {
    const { page, complaints } = await under.open();
    await page.addInitScript(`for (const storage of ['sessionStorage', 'localStorage'])
      Object.defineProperty(window, storage, {
        get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); },
      });`);
    await page.reload();
    await page.locator('#token:focus').waitFor();
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="ready"]').waitFor();
    await page.getByRole('button', { name: 'English' }).click();
    await page.locator('#file').setInputFiles(WAV);
    await resultText(page);
    expect(complaints).toEqual([]);
  });

  it('that was taken away is asked with no longer', async () => {
    const { page } = await openPage(under.browser, under.service.origin, 'en-GB');
    await page.clock.install();
    let asked = 0;
    await page.route('**/readyz', (route) => {
      asked += 1;
      return route.abort();
    });
    // Nor does what was still asked with it say anything more.
    await page.route('**/readyz', () => {}, { times: 1 });
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="checking"]').waitFor();
    await page.locator('#token').fill('');
    await page.keyboard.press('Enter');
    await page.evaluate('fetch("/healthz")');
    expect(await page.locator('#status').getAttribute('data-status')).toBe('no_token');
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="unreachable"]').waitFor();
    await page.locator('#token').fill('');
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="no_token"]').waitFor({ state: 'attached' });
    const askedBefore = asked;
    await page.clock.runFor(30_000);
    // What it would have asked for is on its way before this.
    await page.evaluate('fetch("/healthz")');
    expect(asked).toBe(askedBefore);
    expect(await page.locator('#status').getAttribute('data-status')).toBe('no_token');
    // But with the next one as soon as it is used, were it only typed.
    await page.locator('#token').fill(TOKEN);
    await page.route('**/v1/**', (route) => route.abort());
    await page.locator('#file').setInputFiles(WAV);
    await page.locator('#status[data-status="unreachable"]').waitFor({ timeout: 5_000 });
  });

  it('may be entered anew while the page waits, which goes on', async () => {
    const { page } = await under.ready('en-GB');
    await page.route('**/v1/audio/transcriptions', (route) =>
      route.fulfill({ status: 409, json: { error: 'busy', message: 'busy' } }),
    );
    await page.evaluate(`{
      const { setInterval: set, clearInterval: clear } = window;
      window.ticking = new Set();
      window.setInterval = (...what) => {
        const id = set(...what);
        ticking.add(id);
        return id;
      };
      window.clearInterval = (id) => {
        ticking.delete(id);
        clear(id);
      };
    }`);
    await page.locator('#file').setInputFiles(WAV);
    await notice(page, 'busy').waitFor();
    await page.getByRole('button', { name: 'Change token' }).click();
    await page.keyboard.press('Enter');
    await page.locator('#token-form').waitFor({ state: 'hidden' });
    expect(await notice(page, 'busy').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Stop waiting' }).click();
    await notice(page, 'cancelled').waitFor();
    expect(await page.evaluate('ticking.size')).toBe(0);
  });
});
