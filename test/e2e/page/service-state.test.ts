import { describe, expect, it } from 'vitest';
import { TOKEN } from '../../support/api.ts';
import { listenTo, notice, pageUnderTest, shoot, WAV } from './browser.ts';

const under = pageUnderTest();

describe('the service’s state beside the title', () => {
  it('tells of a model that cannot be loaded, is looked at again, and follows others’ recordings', async () => {
    const { page } = await under.open('en-GB');
    await page.clock.install();
    let answer: object | undefined = { status: 'loading', busy: false, error: 'ModelLoadError' };
    await page.route('**/readyz', (route) =>
      answer === undefined ? route.abort() : route.fulfill({ json: answer }),
    );
    const spoken = await listenTo(page, '#status');
    const says = (words: string) => page.locator('#status', { hasText: new RegExp(`^${words}$`) }).waitFor();
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await says('Model not available');
    expect(await page.locator('#model').textContent()).toBe('');
    await shoot(page, 'unavailable');
    for (const [next, words] of [
      [{ status: 'loading', busy: false }, 'Model loading'],
      [{ status: 'ready', busy: false }, 'Ready'],
      [{ status: 'ready', busy: true }, 'Busy'],
      [undefined, 'Not reachable'],
      [{ status: 'ready', busy: false }, 'Ready'],
    ] as const) {
      answer = next;
      await page.clock.runFor(8_000);
      await says(words);
    }
    await page.locator('#model', { hasText: /^Model scripted \(zipformer2-ctc\)$/ }).waitFor();
    // Once each, however often it looked.
    expect(await spoken()).toEqual([
      ...['Checking', 'Model not available', 'Model loading', 'Ready', 'Busy', 'Not reachable', 'Ready'],
    ]);
  });

  it('is what the service says again after a failure, and not before', async () => {
    const { page } = await under.ready('en-GB');
    let answers = 0;
    await page.route('**/readyz', (route) => {
      answers += 1;
      return answers === 1 ? route.fulfill({ json: { status: 'ready', busy: false } }) : route.abort();
    });
    await page.evaluate(`window.WebSocket = class extends WebSocket {
      send() {
        this.close();
      }
    }`);
    await page.locator('#record').click();
    await notice(page, 'connection_lost').waitFor();
    // Also of one that answers once more as it goes.
    await page.locator('#status[data-status="unreachable"]').waitFor({ timeout: 6_000 });
    expect(await page.locator('body').getAttribute('data-state')).toBe('recording');
  });

  it('is asked no more when the service refuses this address', async () => {
    const { page } = await under.open('en-GB');
    await page.clock.install();
    let asked = 0;
    await page.route('**/readyz', (route) => {
      asked += 1;
      return route.fulfill({ status: 403, json: { error: 'forbidden', message: 'not this address' } });
    });
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await notice(page, 'forbidden').waitFor();
    await page.clock.runFor(30_000);
    await page.evaluate('fetch("/healthz")');
    expect(asked).toBe(1);
    // But again when something else tells of the service's state.
    await page.unroute('**/readyz');
    await page.route('**/v1/**', (route) => route.abort());
    await page.locator('#file').setInputFiles(WAV);
    await notice(page, 'connection_lost').waitFor();
    await page.locator('#model', { hasText: 'scripted' }).waitFor({ timeout: 5_000 });
  });
});
