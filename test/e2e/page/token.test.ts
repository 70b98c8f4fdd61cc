import { describe, expect, it } from 'vitest';
import { TOKEN } from '../../support/service/api.ts';
import { pageUnderTest, WAV } from './browser.ts';
import { Tab } from './tab.ts';

const under = pageUnderTest();
/** Where the browser keeps the token. */
const STORED = `JSON.stringify([sessionStorage['asr-token'], localStorage['asr-token'], document.cookie])`;

describe('the token', () => {
  it('is asked for again when it is wrong', async () => {
    const { tab, page, complaints } = await under.open('en-GB');
    const field = page.getByRole('textbox', { name: 'Access token' });
    // A wrong one is said to be wrong at its field, which a screen reader connects with the words.
    for (const wrong of ['错误的令牌', 'not-the-token-at-all']) {
      await tab.enterToken(wrong);
      await tab.says('unauthorized');
      await page.locator('#token:focus').waitFor();
      expect(await field.getAttribute('aria-invalid')).toBe('true');
      expect(await field.getAttribute('aria-describedby')).toBe('notice token-hint');
    }

    // The words are in sight in a small window, or a large zoom.
    await page.setViewportSize({ width: 320, height: 256 });
    await page.evaluate('scrollTo(0, 0)');
    await page.getByRole('button', { name: 'Use', exact: true }).click();
    // Not `waitForFunction`: the page's policy forbids its looking again.
    const inSight = `(() => {
      const { top, bottom } = document.querySelector('#token-form #notice').getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight + 1;
    })()`;
    await expect.poll(() => page.evaluate(inSight)).toBe(true);

    // It can be seen, to compare it with what one was given.
    const security = `getComputedStyle(document.querySelector('#token')).webkitTextSecurity`;
    for (const shown of ['none', 'disc']) {
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      expect(await page.evaluate(security)).toBe(shown);
    }

    // The right one, copied with what stood around it, takes the words away.
    await tab.enterToken(` ${TOKEN}  `);
    await tab.status('ready');
    expect(await page.locator('#token').getAttribute('aria-invalid')).toBe('false');
    expect(await page.locator('#token-form #notice').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('that turns out wrong with a recording loses none, and is sent no second time', async () => {
    const { tab, page, addresses } = await under.open('en-GB');
    await tab.enterToken('not-the-token-at-all');
    await tab.says('unauthorized');
    // The service itself refuses the recording, long before its 15 s: nobody has to speak on to nobody.
    await tab.press();
    await page.locator('#latest li').waitFor({ timeout: 10_000 });
    await tab.says('unauthorized');
    expect((await page.locator('main').textContent())?.split('not accept this token')).toHaveLength(2);
    expect(addresses.filter((address) => address.includes('/v1/'))).toEqual([]);
    await tab.enterToken();
    await tab.button('Try again').click();
    await tab.resultText();
  });

  it('is kept through a reload, and forgotten with the tab', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    await page.reload();
    await tab.status('ready');
    // Who has entered nothing is led nowhere.
    expect(await page.locator('#record:focus').count()).toBe(0);
    // As WebKit does, without an event, when somebody comes back to the page from another one.
    await page.evaluate(`document.querySelector('#token').value = ''`);
    await tab.choose(WAV);
    await tab.resultText();
    await tab.button('Change token').click();
    await page.locator('#token:focus').waitFor();
    expect(await page.locator('#token').inputValue()).toBe(TOKEN);
    expect(await page.evaluate(STORED)).toBe(JSON.stringify([TOKEN, null, '']));
    expect(complaints).toEqual([]);
  });

  it('is remembered on this device where that is asked for, until it is taken back', async () => {
    const { tab, page } = await under.open('en-GB');
    await page.getByRole('checkbox', { name: 'Remember the token on this device', checked: false }).check();
    await tab.signIn();
    expect(await page.evaluate(STORED)).toBe(JSON.stringify([null, TOKEN, '']));
    // In another tab of the same browser, which has nothing of this one.
    const other = await page.context().newPage();
    await other.goto(page.url());
    await new Tab(other).status('ready');
    await other.getByRole('button', { name: 'Change token' }).click();
    await other.getByRole('checkbox', { checked: true }).uncheck();
    expect(await other.evaluate(STORED)).toBe(JSON.stringify([TOKEN, null, '']));
    await other.close();
    await page.reload();
    await page.locator('#token:focus').waitFor();
    await page.getByRole('checkbox', { checked: false }).waitFor();
  });

  it('may be put into the field without an input event, as a password manager does', async () => {
    const { tab, page } = await under.open('en-GB');
    await page.evaluate(`document.querySelector('#token').value = '${TOKEN}'`);
    await page.getByRole('button', { name: 'Use', exact: true }).click();
    await tab.status('ready');
    expect(await page.locator('#token').inputValue()).toBe(TOKEN);
  });

  it('that was typed and not confirmed is used by whoever goes on, and its field closes', async () => {
    const { tab, page } = await under.open('en-GB');
    await page.locator('#token').fill(TOKEN);
    await tab.choose(WAV);
    await tab.resultText();
    await page.locator('#token-form').waitFor({ state: 'hidden' });
    expect(await page.evaluate(STORED)).toBe(JSON.stringify([TOKEN, null, '']));
    // Also one that was to be changed, and was not.
    await tab.button('Change token').click();
    await tab.press();
    await page.locator('#token-form').waitFor({ state: 'hidden' });
    await tab.until('recording');
  });

  it('lasts until the page is loaded again in a browser that keeps nothing for pages', async () => {
    const { tab, page, complaints } = await under.open();
    await page.addInitScript(`for (const storage of ['sessionStorage', 'localStorage'])
      Object.defineProperty(window, storage, {
        get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); },
      });`);
    await page.reload();
    await page.locator('#token:focus').waitFor();
    await tab.signIn();
    await tab.button('English').click();
    await tab.choose(WAV);
    await tab.resultText();
    expect(complaints).toEqual([]);
  });

  it('that was taken away is asked with no longer', async () => {
    const { tab, page } = await under.open('en-GB');
    await page.clock.install();
    let asked = 0;
    await page.route('**/readyz', (route) => {
      asked += 1;
      return route.abort();
    });
    await tab.signIn('unreachable');
    await tab.enterToken('');
    await page.locator('#status[data-status="no_token"]').waitFor({ state: 'attached' });
    const askedBefore = asked;
    await page.clock.runFor(30_000);
    // What it would have asked for is on its way before this.
    await page.evaluate('fetch("/healthz")');
    expect(asked).toBe(askedBefore);
    // But with the next one as soon as it is used, were it only typed.
    await page.locator('#token').fill(TOKEN);
    await page.route('**/v1/**', (route) => route.abort());
    await tab.choose(WAV);
    await tab.status('unreachable');
  });

  it('may be entered anew while the page waits, which goes on', async () => {
    const { tab, page } = await under.ready('en-GB');
    const busy = { status: 409, json: { error: 'busy', message: 'busy' } };
    await page.route('**/v1/audio/transcriptions', (route) => route.fulfill(busy));
    await tab.choose(WAV);
    await tab.says('busy');
    await tab.button('Change token').click();
    await page.keyboard.press('Enter');
    await page.locator('#token-form').waitFor({ state: 'hidden' });
    expect(await tab.notice('busy').isVisible()).toBe(true);
    await tab.button('Stop waiting').click();
    await tab.says('cancelled');
    await tab.until('idle');
  });
});
