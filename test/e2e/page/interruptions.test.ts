import type { Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  heardText,
  inState,
  listenTo,
  live,
  microphoneLetGo,
  notice,
  pageUnderTest,
  press,
  resultText,
  secondsLeft,
  shoot,
  status,
  watchMicrophone,
} from './browser.ts';

const under = pageUnderTest();

/** As the browser says that the microphone was pulled out: silence would come from it, not nothing. */
const UNPLUG = "opened.getAudioTracks()[0].dispatchEvent(new Event('ended'))";

describe('a recording that is interrupted', () => {
  it('is kept through a lost connection', async () => {
    const { page } = await under.ready();
    await page.keyboard.press('Space');
    await live(page);
    under.service.wire.cut();
    await notice(page, 'connection_lost').waitFor();
    // Beside that nobody reads that the service is ready.
    await status(page, 'unreachable');
    await shoot(page, 'lost-recording');

    // It is tried again until somebody ends the wait.
    await page.keyboard.press('Space');
    const again = notice(page, 'connection_lost').getByText(/秒后自动重试/);
    await again.waitFor();
    await page.getByRole('button', { name: '停止等待' }).click();
    await notice(page, 'cancelled').waitFor();
    // Whoever reads on to the page's end must not hear there that it is tried again.
    expect(await page.locator('#announcement').textContent()).toBe('');
    await shoot(page, 'lost-given-up');

    // Nothing of it was lost.
    under.service.wire.mend();
    await page.getByRole('button', { name: '重试' }).click();
    await heardText(page);
    expect(await page.locator('.recordings li').count()).toBe(1);
  });

  it('cannot begin while the service is away, which may come back with another model', async () => {
    const { page } = await under.ready();
    under.service.wire.cut();
    await press(page);
    await notice(page, 'connection_lost').waitFor();
    await status(page, 'unreachable');
    expect(await page.locator('#model').textContent()).toBe('');
    await page.route('**/page/model.json', (route) => route.fulfill({ json: { id: 'other', family: null } }));
    under.service.wire.mend();
    await page.locator('#model', { hasText: /^模型 other$/ }).waitFor();
  });

  it('ends when its audio stops in the middle, and what there is is recognized', async () => {
    const { page, complaints } = await under.ready('en-GB');
    await page.clock.install();
    await watchMicrophone(page);
    await press(page);
    await live(page);
    // A touch screen lets audio start with the lifting of the finger.
    await page.evaluate('recordingContext.suspend()');
    await page.evaluate(`dispatchEvent(new PointerEvent('pointerup'))`);
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('running');
    // As a phone call does it, and a device that is gone.
    await page.evaluate('recordingContext.suspend()');
    await page.clock.fastForward(4_000);
    await notice(page, 'microphone_lost').waitFor();
    await heardText(page);
    await microphoneLetGo(page);
    await page.clock.fastForward(1_000);
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('closed');
    // And one that is pulled out.
    await press(page);
    await live(page);
    await page.evaluate(UNPLUG);
    await notice(page, 'microphone_lost').waitFor();
    await inState(page, 'idle');
    expect(complaints).toEqual([]);
  });

  it('that was cut off and not recognized is said to be only that, and nobody is asked to speak on', async () => {
    const { page } = await under.ready('en-GB');
    const failure = { status: 500, json: { error: 'inference_failed', message: '' } };
    await page.route('**/v1/audio/transcriptions', (route) => route.fulfill(failure));
    await watchMicrophone(page);
    await page.evaluate(`window.WebSocket = class extends WebSocket {
      send(data) {
        if (data === '{"type":"end"}') this.close();
        else super.send(data);
      }
    }`);
    await press(page);
    await live(page);
    const spoken = await listenTo(page, '#announcement');
    await page.evaluate(UNPLUG);
    await inState(page, 'idle');
    expect(await notice(page, 'inference_failed').isVisible()).toBe(true);
    expect(((await spoken()) as string[]).join('')).not.toContain('Keep speaking');
  });

  it('says nothing of the stream of the one before it', async () => {
    const { page } = await under.ready('en-GB');
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
    await press(page);
    await secondsLeft(page, 14);
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    await press(page);
    await resultText(page);
    await press(page);
    await inState(page, 'recording');
    for (const route of asked)
      await route.fulfill({ json: { status: 'ready', busy: false } }).catch(() => {});
    await page.evaluate('fetch("/healthz")');
    expect(await page.locator('#notice').isVisible()).toBe(false);
  });

  it('keeps nothing of its audio in the browser but its samples', async () => {
    const { page } = await under.ready();
    const inspector = await page.context().newCDPSession(page);
    await inspector.send('Performance.enable');
    const audioNodes = async () => {
      await inspector.send('HeapProfiler.collectGarbage');
      const { metrics } = await inspector.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'AudioHandlers')?.value;
    };
    await page.clock.install();
    await press(page);
    await inState(page, 'recording');
    expect(await audioNodes()).toBeGreaterThanOrEqual(3);
    await press(page);
    await inState(page, 'idle');
    await page.clock.fastForward(1_000);
    // A few times a second: it is the collection that takes the machine's time.
    await expect.poll(audioNodes, { interval: 250 }).toBe(0);
  });
});
