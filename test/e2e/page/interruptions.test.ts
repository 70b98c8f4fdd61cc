import type { Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { pageUnderTest } from './browser.ts';

const under = pageUnderTest();

/** As the browser says that the microphone was pulled out: silence would come from it, not nothing. */
const UNPLUG = "opened.getAudioTracks()[0].dispatchEvent(new Event('ended'))";

describe('a recording that is interrupted', () => {
  it('is kept through a lost connection', async () => {
    const { tab, page } = await under.ready();
    await page.keyboard.press('Space');
    await tab.live();
    under.service.wire.cut();
    await tab.says('connection_lost');
    // Beside that nobody reads that the service is ready.
    await tab.status('unreachable');

    // It is tried again until somebody ends the wait.
    await page.keyboard.press('Space');
    const again = tab.notice('connection_lost').getByText(/页面会自动重试/);
    await again.waitFor();
    await tab.button('停止等待').click();
    await tab.says('cancelled');
    // Whoever reads on to the page's end must not hear there that it is tried again.
    expect(await page.locator('#announcement').textContent()).toBe('');

    // Nothing of it was lost.
    under.service.wire.mend();
    await tab.button('重试').click();
    await tab.heardText();
    expect(await page.locator('.recordings li').count()).toBe(1);
  });

  it('cannot begin while the service is away, which may come back with another model', async () => {
    const { tab, page } = await under.ready();
    under.service.wire.cut();
    await tab.press();
    await tab.says('connection_lost');
    await tab.status('unreachable');
    expect(await page.locator('#model').textContent()).toBe('');
    await page.route('**/page/model.json', (route) => route.fulfill({ json: { id: 'other', family: null } }));
    under.service.wire.mend();
    await page.locator('#model', { hasText: /^模型 other$/ }).waitFor();
  });

  it('ends when its audio stops in the middle, and what there is is recognized', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    await page.clock.install();
    await tab.watchMicrophone();
    await tab.press();
    await tab.live();
    // A touch screen lets audio start with the lifting of the finger.
    await page.evaluate('recordingContext.suspend()');
    await page.evaluate(`dispatchEvent(new PointerEvent('pointerup'))`);
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('running');
    // As a phone call does it, and a device that is gone.
    await page.evaluate('recordingContext.suspend()');
    await page.clock.fastForward(4_000);
    await tab.says('microphone_lost');
    await tab.heardText();
    await tab.microphoneLetGo();
    await page.clock.fastForward(1_000);
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('closed');
    // And one that is pulled out.
    await tab.press();
    await tab.live();
    await page.evaluate(UNPLUG);
    await tab.says('microphone_lost');
    await tab.until('idle');
    expect(complaints).toEqual([]);
  });

  it('that was cut off and not recognized is said to be only that, and nobody is asked to speak on', async () => {
    const { tab, page } = await under.ready('en-GB');
    const failure = { status: 500, json: { error: 'inference_failed', message: '' } };
    await page.route('**/v1/audio/transcriptions', (route) => route.fulfill(failure));
    await tab.watchMicrophone();
    await page.evaluate(`window.WebSocket = class extends WebSocket {
      send(data) {
        if (data === '{"type":"end"}') this.close();
        else super.send(data);
      }
    }`);
    await tab.press();
    await tab.live();
    const spoken = await tab.listenTo('#announcement');
    await page.evaluate(UNPLUG);
    await tab.until('idle');
    expect(await tab.notice('inference_failed').isVisible()).toBe(true);
    expect((await spoken()).join('')).not.toContain('Keep speaking');
  });

  it('says nothing of the stream of the one before it', async () => {
    const { tab, page } = await under.ready('en-GB');
    const asked: Route[] = [];
    await page.route('**/readyz', (route) => void asked.push(route));
    await page.evaluate(`{
      const Real = WebSocket;
      window.WebSocket = class {
        constructor() {
          window.WebSocket = Real;
          setTimeout(() => this.onclose({ code: 1006 }));
        }
        close() {}
      };
    }`);
    await tab.press();
    await tab.recorded(1);
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    await tab.press();
    await tab.resultText();
    await tab.press();
    await tab.until('recording');
    for (const route of asked)
      await route.fulfill({ json: { status: 'ready', busy: false } }).catch(() => {});
    await page.evaluate('fetch("/healthz")');
    expect(await page.locator('#notice').isVisible()).toBe(false);
  });

  it('keeps nothing of its audio in the browser but its samples', async () => {
    const { tab, page } = await under.ready();
    const inspector = await page.context().newCDPSession(page);
    await inspector.send('Performance.enable');
    const audioNodes = async () => {
      await inspector.send('HeapProfiler.collectGarbage');
      const { metrics } = await inspector.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'AudioHandlers')?.value;
    };
    await page.clock.install();
    await tab.press();
    await tab.until('recording');
    expect(await audioNodes()).toBeGreaterThanOrEqual(3);
    await tab.press();
    await tab.until('idle');
    await page.clock.fastForward(1_000);
    // A few times a second: it is the collection that takes the machine's time.
    await expect.poll(audioNodes, { interval: 250 }).toBe(0);
  });
});
