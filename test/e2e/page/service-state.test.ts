import { describe, expect, it } from 'vitest';
import {
  choose,
  enterToken,
  listenTo,
  notice,
  pageUnderTest,
  press,
  shoot,
  signIn,
  stateOf,
  status,
  WAV,
} from './browser.ts';

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
    await signIn(page, 'unavailable');
    expect(await page.locator('#model').textContent()).toBe('');
    await shoot(page, 'unavailable');
    for (const [next, name] of [
      [{ status: 'loading', busy: false }, 'loading'],
      [{ status: 'ready', busy: false }, 'ready'],
      [{ status: 'ready', busy: true }, 'busy'],
      [undefined, 'unreachable'],
      [{ status: 'ready', busy: false }, 'ready'],
    ] as const) {
      answer = next;
      await page.clock.runFor(8_000);
      await status(page, name);
    }
    await page.locator('#model', { hasText: /^Model scripted \(zipformer2-ctc\)$/ }).waitFor();
    // Once each, however often it looked.
    expect(await spoken()).toEqual([
      ...['Checking', 'Model not available', 'Model loading', 'Ready', 'Busy', 'Not reachable', 'Ready'],
    ]);
  });

  it('is what the service says again after a failure, and not before', async () => {
    const { page } = await under.ready('en-GB');
    // It answers once more as it goes.
    const answered = { json: { status: 'ready', busy: false } };
    await page.route('**/readyz', (route) => route.abort());
    await page.route('**/readyz', (route) => route.fulfill(answered), { times: 1 });
    await page.evaluate(`window.WebSocket = class extends WebSocket {
      send() {
        this.close();
      }
    }`);
    await press(page);
    await notice(page, 'connection_lost').waitFor();
    await status(page, 'unreachable');
    expect(await stateOf(page)).toBe('recording');
  });

  it('is asked no more when the service refuses this address', async () => {
    const { page } = await under.open('en-GB');
    await page.clock.install();
    let asked = 0;
    await page.route('**/readyz', (route) => {
      asked += 1;
      return route.fulfill({ status: 403, json: { error: 'forbidden', message: 'not this address' } });
    });
    await enterToken(page);
    await notice(page, 'forbidden').waitFor();
    await page.clock.runFor(30_000);
    await page.evaluate('fetch("/healthz")');
    expect(asked).toBe(1);
    // But again when something else tells of the service's state.
    await page.unroute('**/readyz');
    await page.route('**/v1/**', (route) => route.abort());
    await choose(page, WAV);
    await notice(page, 'connection_lost').waitFor();
    await page.locator('#model', { hasText: 'scripted' }).waitFor();
  });
});
