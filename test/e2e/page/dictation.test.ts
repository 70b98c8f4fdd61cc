import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { TOKEN } from '../../support/api.ts';
import { scriptedText } from '../../support/scripted-recognizer.ts';
import { StreamClient } from '../../support/stream-client.ts';
import {
  figure,
  listenTo,
  notice,
  openReady,
  pageUnderTest,
  resultText,
  savedRecording,
  secondsLeft,
  shoot,
} from './browser.ts';

const HEADER_BYTES = 44;
const under = pageUnderTest();

/** The result, which is the text of the samples that the page keeps: nothing was lost, doubled or cut on the way. */
async function heardText(page: Page): Promise<string> {
  const text = await resultText(page);
  const samples = (await savedRecording(page)).subarray(HEADER_BYTES);
  expect(text).toBe(scriptedText(samples));
  expect(await figure(page, 'audio_ms')).toBe(Math.round(samples.length / 32));
  return text ?? '';
}

/** Somebody else's recording. @returns ends it */
async function otherRecording(): Promise<() => Promise<unknown>> {
  const other = await StreamClient.connect(under.service.wsUrl);
  other.start({ api_token: TOKEN });
  await other.message('ready');
  return () => {
    const closed = other.closed();
    other.terminate();
    return closed;
  };
}

const press = (page: Page) => page.locator('#record').click();
const live = (page: Page) => page.locator('#transcript:has(.changing)').waitFor();
const status = (page: Page, name: string) => page.locator(`#status[data-status="${name}"]`).waitFor();

describe('a recording on the page', () => {
  it('becomes text as it is spoken, by the keyboard alone', async () => {
    const { page, complaints, addresses } = await under.open();
    await shoot(page, 'token');
    await page.locator('#token:focus').waitFor();
    // A screen reader reads it in the voice of its language, also what has no letters on the screen.
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
    await page.locator('meter[aria-label="麦克风音量"]').waitFor({ state: 'attached' });
    // And says by itself what these hold.
    for (const [role, ids] of [
      ['status', ['status', 'announcement']],
      ['alert', ['alert']],
    ] as const) {
      expect(await page.getByRole(role).evaluateAll((all) => all.map(({ id }) => id))).toEqual(ids);
    }
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status', { hasText: '就绪' }).waitFor();
    expect(await page.locator('#record:focus').count()).toBe(1);
    await page.locator('#model', { hasText: /^模型 scripted \(nemo-ctc\)$/ }).waitFor();
    expect(await page.locator('.left').textContent()).toBe('15.0 秒 可录');
    await shoot(page, 'idle');

    const said = await listenTo(page, '#status');
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: '结束录音' }).waitFor();
    await live(page);
    // The one slot is taken, by this page.
    expect(await page.locator('#status').textContent()).toBe('使用中');
    await page.locator('#model', { hasText: 'scripted' }).waitFor();
    await shoot(page, 'recording');
    await page.keyboard.press('Space');

    const text = await heardText(page);
    expect(await figure(page, 'finalize_ms')).toBeGreaterThan(0);
    await status(page, 'ready');
    expect(await said()).toEqual(['使用中', '就绪']);
    expect(await page.locator('#announcement').textContent()).toContain(text);
    // A screen reader says it in its own language's voice.
    expect(await page.locator('#announcement [lang="zh"]').textContent()).toBe(text);
    expect(await page.locator('.said[lang="zh-CN"]').textContent()).toBe(text);
    await page.getByRole('button', { name: '复制 1. 麦克风' }).click();
    await page.getByRole('button', { name: '已复制' }).waitFor();
    await shoot(page, 'final');
    expect(complaints).toEqual([]);
    expect(addresses.filter((address) => address.includes(TOKEN))).toEqual([]);
  });

  it('waits while the service is busy, also when it goes away meanwhile, and loses nothing', async () => {
    const { page } = await under.ready();
    await page.clock.install();
    const end = await otherRecording();
    // Seen before anybody meets it.
    await status(page, 'busy');
    // Held down: letting go is the end of the recording.
    await page.locator('#record').hover();
    await page.mouse.down();
    await notice(page, 'busy').waitFor();
    await shoot(page, 'busy-recording');
    await secondsLeft(page, 14);
    // Wherever the pointer is by then.
    await page.mouse.move(0, 0);
    await page.mouse.up();
    const again = (kind: string, words: RegExp) => notice(page, kind).getByText(words).waitFor();
    await again('busy', /秒后自动重试（第 2 次/);
    expect(await page.locator('#status').textContent()).toBe('使用中');
    await shoot(page, 'busy-waiting');
    under.service.wire.cut();
    // Long before the last of its retries, which are still under way.
    await again('connection_lost', /秒后自动重试/);
    await status(page, 'unreachable');
    await end();
    under.service.wire.mend();
    // The longest of the waits between.
    await page.clock.fastForward(8_000);
    await heardText(page);
    expect(await figure(page, 'inference_ms')).toBeGreaterThan(0);
    expect(await page.locator('#notice').isVisible()).toBe(false);
    await status(page, 'ready');
  });

  it('says what its address lacks when the stream is refused to it; the recording is recognized all the same', async () => {
    const localhost = under.service.origin.replace('127.0.0.1', 'localhost');
    const { page } = await openReady(under.browser, localhost, 'en-GB');
    await page.keyboard.press('Space');
    const refused = notice(page, 'stream_refused');
    await refused.getByText('ASR_ALLOWED_ORIGINS').waitFor();
    await refused.getByText('Keep speaking').waitFor();
    await shoot(page, 'stream-refused');
    await secondsLeft(page, 14);
    await page.keyboard.press('Space');
    await heardText(page);
    await status(page, 'ready');
    expect(await refused.isVisible()).toBe(false);
  });

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
    await press(page);
    await notice(page, 'connection_lost').waitFor();
    await status(page, 'unreachable');
    expect(await page.locator('#model').textContent()).toBe('');
    // It may come back with another model.
    await page.route('**/page/model.json', (route) => route.fulfill({ json: { id: 'other', family: null } }));
    under.service.wire.mend();
    await page.locator('#model', { hasText: /^模型 other$/ }).waitFor();
  });

  it('ends by itself at 15 s, and is recognized as a whole where the model cannot follow', async () => {
    const { page, complaints } = await under.ready('en-GB');
    const held = under.recognizer.hold();
    // The audio of a clock that runs as fast as the machine can.
    await page.evaluate(`window.AudioContext = class extends OfflineAudioContext {
      constructor() {
        super(1, 48_000 * 16, 48_000);
      }
      createMediaStreamSource() {
        const buffer = new AudioBuffer({ length: 48_000, sampleRate: 48_000 });
        buffer.getChannelData(0).forEach((_, n, samples) => { samples[n] = Math.sin(n * n) / 4; });
        const source = new AudioBufferSourceNode(this, { buffer, loop: true });
        source.start();
        return source;
      }
      resume() {
        setTimeout(() => this.startRendering());
      }
      close() {}
    }`);
    const spoken = await listenTo(page, '#announcement');
    await page.getByRole('button', { name: 'Start recording' }).press('Enter');
    await page.locator('body[data-state="recognizing"]').waitFor();
    expect(await page.locator('#record').getAttribute('aria-disabled')).toBe('true');
    expect(await page.locator('#record').getAttribute('aria-busy')).toBe('true');
    const turnSeconds = () =>
      page.evaluate("getComputedStyle(document.querySelector('#record .shape')).animationDuration");
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    expect(await turnSeconds()).toBe('0.9s');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await turnSeconds()).toBe('3s');
    await notice(page, 'busy').waitFor();
    held.release();
    await heardText(page);
    expect(await figure(page, 'audio_ms')).toBe(15_000);
    await page.locator('#latest dd', { hasText: /^15\.0 s$/ }).waitFor();
    expect(await spoken()).toEqual(
      expect.arrayContaining([
        'Listening…',
        '5 seconds left',
        'The 15 seconds are up; the recording has ended.',
      ]),
    );
    await page.locator('#left', { hasText: /^15\.0 s$/ }).waitFor();
    await shoot(page, 'limit');
    expect(complaints).toEqual([]);
  });

  it('goes on where the model cannot follow it, and says so', async () => {
    const { page } = await under.ready();
    const held = under.recognizer.hold();
    await press(page);
    const overloaded = notice(page, 'overloaded');
    await overloaded.waitFor();
    expect(await overloaded.textContent()).toBe('服务跟不上实时音频。请继续说：结束后会识别整段录音。');
    expect(await overloaded.getAttribute('data-tone')).toBe('wait');
    expect(await page.locator('body').getAttribute('data-state')).toBe('recording');
    expect(await page.locator('#announcement').textContent()).toContain('服务跟不上实时音频');
    await shoot(page, 'overloaded');
    await press(page);
    await page.locator('body[data-state="recognizing"]').waitFor();
    await overloaded.waitFor({ state: 'hidden' });
    held.release();
    await heardText(page);
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
    // The browser shows no microphone in use any more.
    const tracks = 'recordingStream.getTracks().map(({ readyState }) => readyState)';
    expect(await page.evaluate(tracks)).toEqual(['ended']);
    await page.clock.fastForward(1_000);
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('closed');
    // As the browser says that it was pulled out: silence would come from it, not nothing.
    await press(page);
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
    await press(page);
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
    await press(page);
    await secondsLeft(page, 14);
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    await press(page);
    await resultText(page);
    await press(page);
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
      await press(page);
      await page.locator('body[data-state="recording"]').waitFor();
      expect(await audioNodes()).toBeGreaterThanOrEqual(3);
      await press(page);
      await page.locator('body[data-state="idle"]').waitFor();
      await page.clock.fastForward(1_000);
    }
    // A few times a second: it is the collection that takes the machine's time.
    await expect.poll(audioNodes, { interval: 250 }).toBe(0);
  });
});
