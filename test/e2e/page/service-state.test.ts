import { describe, expect, it } from 'vitest';
import { pageUnderTest, WAV } from './browser.ts';

const under = pageUnderTest();

describe('the service’s state beside the title', () => {
  it('tells of a model that cannot be loaded, is looked at again, and follows others’ recordings', async () => {
    const { tab, page } = await under.open('en-GB');
    await page.clock.install();
    let answer: object | undefined = { status: 'loading', busy: false, error: 'ModelLoadError' };
    await page.route('**/readyz', (route) =>
      answer === undefined ? route.abort() : route.fulfill({ json: answer }),
    );
    const spoken = await tab.listenTo('#status');
    await tab.signIn('unavailable');
    expect(await page.locator('#model').textContent()).toBe('');
    for (const [next, name] of [
      [{ status: 'loading', busy: false }, 'loading'],
      [{ status: 'ready', busy: false }, 'ready'],
      [{ status: 'ready', busy: true }, 'busy'],
      [undefined, 'unreachable'],
      [{ status: 'ready', busy: false }, 'ready'],
    ] as const) {
      answer = next;
      await page.clock.runFor(8_000);
      await tab.status(name);
    }
    await page.locator('#model', { hasText: /^Model scripted \(zipformer2-ctc\)$/ }).waitFor();
    // Once each, however often it looked.
    expect(await spoken()).toEqual([
      ...['Checking', 'Model not available', 'Model loading', 'Ready', 'Busy', 'Not reachable', 'Ready'],
    ]);
  });

  it('is what the service says again after a failure, and not before', async () => {
    const { tab, page } = await under.ready('en-GB');
    // It answers once more as it goes.
    const answered = { json: { status: 'ready', busy: false } };
    await page.route('**/readyz', (route) => route.abort());
    await page.route('**/readyz', (route) => route.fulfill(answered), { times: 1 });
    await page.evaluate(`window.WebSocket = class extends WebSocket {
      send() {
        this.close();
      }
    }`);
    await tab.press();
    await tab.says('connection_lost');
    await tab.status('unreachable');
    expect(await tab.state()).toBe('recording');
  });

  it('is asked no more when the service refuses this address', async () => {
    const { tab, page } = await under.open('en-GB');
    await page.clock.install();
    let asked = 0;
    await page.route('**/readyz', (route) => {
      asked += 1;
      return route.fulfill({ status: 403, json: { error: 'forbidden', message: 'not this address' } });
    });
    await tab.enterToken();
    await tab.says('forbidden');
    await page.clock.runFor(30_000);
    await page.evaluate('fetch("/healthz")');
    expect(asked).toBe(1);
    // But again when something else tells of the service's state.
    await page.unroute('**/readyz');
    await page.route('**/v1/**', (route) => route.abort());
    await tab.choose(WAV);
    await tab.says('connection_lost');
    await page.locator('#model', { hasText: 'scripted' }).waitFor();
  });
});
