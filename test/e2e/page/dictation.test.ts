import { describe, expect, it } from 'vitest';
import { StreamClient } from '../../support/clients/stream-client.ts';
import { TOKEN } from '../../support/service/api.ts';
import { openReady, pageUnderTest } from './browser.ts';
import type { Tab } from './tab.ts';

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

/** From now on the microphone hears so many seconds of noise, as fast as the machine can. */
const hearAtOnce = ({ page }: Tab, seconds: number): Promise<unknown> =>
  page.evaluate(`window.AudioContext = class extends OfflineAudioContext {
    constructor() {
      super(1, 16_000 * ${seconds}, 16_000);
    }
    createMediaStreamSource() {
      const buffer = new AudioBuffer({ length: 16_000, sampleRate: 16_000 });
      buffer.getChannelData(0).forEach((_, n, samples) => { samples[n] = Math.sin(n * n) / 4; });
      const source = new AudioBufferSourceNode(this, { buffer, loop: true });
      source.start();
      return source;
    }
    resume() {
      setTimeout(() => this.startRendering().catch(() => {}));
    }
    close() {}
  }`);

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
    expect(await page.locator('.timer').textContent()).toBe('还可录 60:00');

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
    const waits = tab.notice('busy').getByText(/^有 0:0\d 的录音等待识别，最多 5:00。$/);
    await waits.waitFor();
    expect(await page.locator('#announcement').textContent()).toMatch(/有 0:0\d 的录音等待识别/);
    expect(await page.locator('.timer').textContent()).toMatch(/^还可录 59:/);
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
    await tab.recorded(1);
    await page.keyboard.press('Space');
    await tab.heardText();
    expect(await refused.isVisible()).toBe(false);
  });

  it('goes on beyond 15 s, as one recording, and what was said before stays', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    await hearAtOnce(tab, 40);
    const held = under.recognizer.hold();
    const spoken = await tab.listenTo('#announcement');
    await tab.button('Start recording').press('Enter');
    await page.locator('#time', { hasText: /^59:20$/ }).waitFor();
    await tab.press();
    // The model is still with the beginning, and how much has its text is there to read.
    await page.locator('#progress', { hasText: /^0:00 of 0:40 recognized$/ }).waitFor();
    expect(await page.locator('#record').getAttribute('aria-disabled')).toBe('true');
    held.release();
    // Its first words stand in front of those behind 15 s.
    await tab.resultText();
    const text = await tab.heardText();
    expect(await tab.figure('audio_ms')).toBe(40_000);
    expect(await page.locator('.recordings li').count()).toBe(1);
    // Nobody has to listen to all of it once more.
    expect(await spoken()).toEqual(expect.arrayContaining(['Listening…', 'Recognized to its end.']));
    expect((await spoken()).join('')).not.toContain(text);
    expect(complaints).toEqual([]);
  });

  it('ends when 5 minutes of it wait, which is said before and then, and all of it is recognized', {
    timeout: 60_000,
  }, async () => {
    const { tab, page, complaints } = await under.ready('zh-CN');
    await hearAtOnce(tab, 330);
    // Or its bars would take most of the time.
    await page.evaluate(`document.querySelector('#wave').hidden = true`);
    // Neither by a stream nor as an upload does any of it get through.
    await page.evaluate(`window.WebSocket = class {
      constructor() {
        setTimeout(() => this.onclose({ code: 1006 }));
      }
      close() {}
    }`);
    let isBusy = true;
    await page.route('**/v1/**', (route) =>
      isBusy ? route.fulfill({ status: 409, json: { error: 'busy', message: '' } }) : route.continue(),
    );
    const spoken = await tab.listenTo('#announcement');
    await tab.press();
    await tab.says('busy');
    // It stands there while the page waits, too.
    const ended = page.locator('#notice', { hasText: '录音已结束：有 5 分钟还在等待服务，不能再多。' });
    await ended.waitFor({ timeout: 50_000 });
    expect((await spoken()).join('')).toContain('有 4:00 的录音等待识别，最多 5:00。');
    // Nobody can record now.
    await page.locator('.timer', { hasText: /^已等待 0:/ }).waitFor();
    isBusy = false;
    await tab.heardText();
    expect(await tab.figure('audio_ms')).toBeGreaterThanOrEqual(299_000);
    expect(await tab.figure('audio_ms')).toBeLessThan(330_000);
    // It stands there still when the text has come.
    await tab.notice('waiting_limit').waitFor();
    expect(complaints).toEqual([]);
  });

  it('goes on where the model cannot follow it, and says so', async () => {
    const { tab, page } = await under.ready();
    const held = under.recognizer.hold();
    await tab.press();
    const overloaded = tab.notice('overloaded');
    await overloaded.waitFor();
    expect(await overloaded.textContent()).toEqual(
      expect.stringMatching(
        /^服务跟不上实时音频。请继续说：录音都会保留并识别。有 0:0\d 的录音等待识别，最多 5:00。$/,
      ),
    );
    expect(await page.locator('#announcement').textContent()).toContain('服务跟不上实时音频');
    expect(await tab.state()).toBe('recording');
    await tab.press();
    await tab.until('waiting');
    await overloaded.waitFor({ state: 'hidden' });
    held.release();
    await tab.heardText();
  });
});
