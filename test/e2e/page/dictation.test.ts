import { describe, expect, it } from 'vitest';
import { TOKEN } from '../../support/api.ts';
import { StreamClient } from '../../support/stream-client.ts';
import { openReady, pageUnderTest } from './browser.ts';

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
    const { tab, page, complaints, addresses } = await under.open();

    // The token is asked for, and leads to the button.
    await page.locator('#token:focus').waitFor();
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status', { hasText: '就绪' }).waitFor();
    await page.locator('#record:focus').waitFor();
    await page.locator('#model', { hasText: /^模型 scripted（zipformer2-ctc）$/ }).waitFor();
    expect(await page.locator('.timer').textContent()).toBe('还可录 0:15');

    // The space bar records, and the text comes meanwhile.
    const buttonBefore = await page.locator('#record').boundingBox();
    const said = await tab.listenTo('#status');
    await page.keyboard.press('Space');
    await tab.button('结束录音').waitFor();
    await tab.live();
    await page.keyboard.press('Space');

    // The result is what was said to the last sample, and the button is where it was.
    const text = await tab.heardText();
    expect(await tab.figure('finalize_ms')).toBeGreaterThan(0);
    await tab.status('ready');
    // The one slot was taken by this page: nobody reads that somebody else has it.
    expect(await said()).toEqual(['录音中', '识别中', '就绪']);
    // A screen reader says it in the voice of its language.
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
    expect(await page.locator('#announcement [lang="zh"]').textContent()).toBe(text);
    expect(await page.locator('.said[lang="zh-CN"]').textContent()).toBe(text);
    await tab.button('复制 1. 麦克风').click();
    await tab.button('已复制').waitFor();
    expect(await page.locator('#record').boundingBox()).toEqual(buttonBefore);

    expect(complaints).toEqual([]);
    expect(addresses.filter((address) => address.includes(TOKEN))).toEqual([]);
  });

  it('waits while the service is busy, also when it goes away meanwhile, and loses nothing', async () => {
    const { tab, page } = await under.ready();
    const again = (kind: string, words: RegExp) => tab.notice(kind).getByText(words).waitFor();

    // Somebody else records, which is seen before anybody meets it.
    const end = await otherRecording();
    await tab.status('busy');
    // Held down: letting go is the end of the recording, wherever the pointer is by then.
    await page.locator('#record').hover();
    await page.mouse.down();
    await tab.says('busy');
    await tab.secondsLeft(14);
    await page.mouse.move(0, 0);
    await page.mouse.up();
    await again('busy', /页面会自动重试/);
    await tab.status('busy');
    await page.locator('#hint', { hasText: '正在等待服务' }).waitFor();
    // Nobody can record now, and how long it has waited is there in its place.
    await page.locator('.timer', { hasText: /^已等待 0:0[1-9]$/ }).waitFor();

    // The connection is cut long before the last of its retries.
    await page.clock.install();
    under.service.wire.cut();
    await again('connection_lost', /页面会自动重试/);
    await tab.status('unreachable');

    // Slot and connection are there again: after the longest of the waits, so is the text.
    await end();
    under.service.wire.mend();
    await page.clock.fastForward(8_000);
    await tab.heardText();
    expect(await tab.figure('inference_ms')).toBeGreaterThan(0);
    expect(await page.locator('#notice').isVisible()).toBe(false);
    await tab.status('ready');
  });

  it('says what its address lacks when the stream is refused to it; the recording is recognized all the same', async () => {
    const localhost = under.service.origin.replace('127.0.0.1', 'localhost');
    const { tab, page } = await openReady(under.browser, localhost, 'en-GB');
    await page.keyboard.press('Space');
    const refused = tab.notice('stream_refused');
    await refused.getByText('ASR_ALLOWED_ORIGINS').waitFor();
    await refused.getByText('Keep speaking').waitFor();
    await tab.secondsLeft(14);
    await page.keyboard.press('Space');
    await tab.heardText();
    expect(await refused.isVisible()).toBe(false);
  });

  it('ends by itself at 15 s, and is recognized as a whole where the model cannot follow', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
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
    const spoken = await tab.listenTo('#announcement');
    await tab.button('Start recording').press('Enter');
    await tab.until('recognizing');
    expect(await page.locator('#record').getAttribute('aria-disabled')).toBe('true');
    await tab.says('busy');
    held.release();
    await tab.heardText();
    expect(await tab.figure('audio_ms')).toBe(15_000);
    await page.locator('#latest dd', { hasText: /^15\.0 s$/ }).waitFor();
    const announced = ['Listening…', '5 seconds left', 'The 15 seconds are up; the recording has ended.'];
    expect(await spoken()).toEqual(expect.arrayContaining(announced));
    expect(complaints).toEqual([]);
  });

  it('goes on where the model cannot follow it, and says so', async () => {
    const { tab, page } = await under.ready();
    const held = under.recognizer.hold();
    await tab.press();
    const overloaded = tab.notice('overloaded');
    await overloaded.waitFor();
    expect(await overloaded.textContent()).toBe('服务跟不上实时音频。请继续说：结束后会识别整段录音。');
    expect(await page.locator('#announcement').textContent()).toContain('服务跟不上实时音频');
    expect(await tab.state()).toBe('recording');
    await tab.press();
    await tab.until('waiting');
    await overloaded.waitFor({ state: 'hidden' });
    held.release();
    await tab.heardText();
  });
});
