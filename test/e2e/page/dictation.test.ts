import { describe, expect, it } from 'vitest';
import { TOKEN } from '../../support/api.ts';
import { StreamClient } from '../../support/stream-client.ts';
import {
  figure,
  heardText,
  listenTo,
  live,
  notice,
  openReady,
  pageUnderTest,
  secondsLeft,
  shoot,
  status,
} from './browser.ts';

const under = pageUnderTest();

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
    await page.locator('#model', { hasText: /^模型 scripted \(zipformer2-ctc\)$/ }).waitFor();
    expect(await page.locator('.left').textContent()).toBe('15.0 秒 可录');
    await shoot(page, 'idle');
    const buttonBefore = await page.locator('#record').boundingBox();

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
    // Who presses again finds the button where it was.
    expect(await page.locator('#record').boundingBox()).toEqual(buttonBefore);
    expect(complaints).toEqual([]);
    expect(addresses.filter((address) => address.includes(TOKEN))).toEqual([]);
  });

  it('waits while the service is busy, also when it goes away meanwhile, and loses nothing', async () => {
    const { page } = await under.ready();
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
    await page.clock.install();
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
    await page.locator('#record').click();
    const overloaded = notice(page, 'overloaded');
    await overloaded.waitFor();
    expect(await overloaded.textContent()).toBe('服务跟不上实时音频。请继续说：结束后会识别整段录音。');
    expect(await overloaded.getAttribute('data-tone')).toBe('wait');
    expect(await page.locator('body').getAttribute('data-state')).toBe('recording');
    expect(await page.locator('#announcement').textContent()).toContain('服务跟不上实时音频');
    await shoot(page, 'overloaded');
    await page.locator('#record').click();
    await page.locator('body[data-state="recognizing"]').waitFor();
    await overloaded.waitFor({ state: 'hidden' });
    held.release();
    await heardText(page);
  });
});
