import type { Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  heardText,
  listenTo,
  live,
  notice,
  pageUnderTest,
  resultText,
  secondsLeft,
  shoot,
  status,
} from './browser.ts';

const under = pageUnderTest();

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
    await page.keyboard.press('Space');
    await notice(page, 'connection_lost')
      .getByText(/秒后自动重试/)
      .waitFor();
    await page.getByRole('button', { name: '停止等待' }).click();
    await notice(page, 'cancelled').waitFor();
    // Whoever reads on to the page's end must not hear there that it is tried again.
    expect(await page.locator('#announcement').textContent()).toBe('');
    await shoot(page, 'lost-given-up');
    under.service.wire.mend();
    await page.getByRole('button', { name: '重试' }).click();
    await heardText(page);
    expect(await page.locator('.recordings li').count()).toBe(1);
    // Nothing can be recorded while the service is away, and that is no riddle.
    under.service.wire.cut();
    await page.locator('#record').click();
    await notice(page, 'connection_lost').waitFor();
    await status(page, 'unreachable');
    expect(await page.locator('#model').textContent()).toBe('');
    // It may come back with another model.
    await page.route('**/page/model.json', (route) => route.fulfill({ json: { id: 'other', family: null } }));
    under.service.wire.mend();
    await page.locator('#model', { hasText: /^模型 other$/ }).waitFor();
  });

  it('ends when its audio stops in the middle, and what there is is recognized', async () => {
    const { page, complaints } = await under.ready('en-GB');
    await page.clock.install();
    await page.evaluate(`{
      const source = AudioContext.prototype.createMediaStreamSource;
      AudioContext.prototype.createMediaStreamSource = function (stream) {
        window.recordingContext = this;
        window.recordingStream = stream;
        return source.call(this, stream);
      };
    }`);
    await page.locator('#record').click();
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
    // The browser shows no microphone in use any more.
    const tracks = 'recordingStream.getTracks().map(({ readyState }) => readyState)';
    expect(await page.evaluate(tracks)).toEqual(['ended']);
    await page.clock.fastForward(1_000);
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('closed');
    // As the browser says that it was pulled out: silence would come from it, not nothing.
    await page.locator('#record').click();
    await live(page);
    await page.evaluate("recordingStream.getAudioTracks()[0].dispatchEvent(new Event('ended'))");
    await notice(page, 'microphone_lost').waitFor();
    await page.locator('body[data-state="idle"]').waitFor();
    expect(complaints).toEqual([]);
  });

  it('that was cut off and not recognized is said to be only that, and nobody is asked to speak on', async () => {
    const { page } = await under.ready('en-GB');
    await page.route('**/v1/audio/transcriptions', (route) =>
      route.fulfill({ status: 500, json: { error: 'inference_failed', message: '' } }),
    );
    await page.evaluate(`{
      const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = async (constraints) => (window.opened = await open(constraints));
      window.WebSocket = class extends WebSocket {
        send(data) {
          if (data === '{"type":"end"}') this.close();
          else super.send(data);
        }
      };
    }`);
    await page.locator('#record').click();
    await live(page);
    const spoken = await listenTo(page, '#announcement');
    await page.evaluate("opened.getAudioTracks()[0].dispatchEvent(new Event('ended'))");
    await page.locator('body[data-state="idle"]').waitFor();
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
    await page.locator('#record').click();
    await secondsLeft(page, 14);
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    await page.locator('#record').click();
    await resultText(page);
    await page.locator('#record').click();
    await page.locator('body[data-state="recording"]').waitFor();
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
    for (const _ of [1, 2]) {
      await page.locator('#record').click();
      await page.locator('body[data-state="recording"]').waitFor();
      expect(await audioNodes()).toBeGreaterThanOrEqual(3);
      await page.locator('#record').click();
      await page.locator('body[data-state="idle"]').waitFor();
      await page.clock.fastForward(1_000);
    }
    // A few times a second: it is the collection that takes the machine's time.
    await expect.poll(audioNodes, { interval: 250 }).toBe(0);
  });
});
