import type { Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { pageUnderTest, WAV } from './browser.ts';

const under = pageUnderTest();

describe('behind a queue', () => {
  it('an upload that waits says so, and is recognized when it is its turn', async () => {
    const { tab, page } = await under.ready('en-GB');
    await page.clock.install();
    const asked = new Promise<Route>((resolve) => void page.route('**/v1/**', resolve));
    await tab.choose(WAV);
    const turn = await asked;
    await page.clock.runFor(4_000);
    expect(await tab.notice('queued').textContent()).toBe(
      'Other recordings may be in front of this one.The page tries again by itself until it is your turn. No action needed.Stop waiting',
    );
    await turn.continue();
    await tab.heardText();
    expect(await tab.notice('queued').count()).toBe(0);
  });

  it('a recording goes on while its stream waits; then it waits too, until it is stopped', async () => {
    const { tab, page } = await under.ready('en-GB');
    // One that never opens: it waits in the queue.
    await page.evaluate(`window.WebSocket = class {
      send() {}
      close() {}
    }`);
    await tab.press();
    await tab.says('queued');
    expect(await tab.state()).toBe('recording');
    expect(await tab.notice('queued').textContent()).toContain('Keep speaking');
    await tab.press();
    await tab.until('waiting');
    await tab.says('queued');
    await tab.button('Stop waiting').click();
    await tab.says('cancelled');
    // The recording is kept.
    expect(await tab.savedSamples()).not.toHaveLength(0);
  });
});
