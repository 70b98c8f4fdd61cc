import { describe, expect, it } from 'vitest';
import { INSECURE_HOST, openReady, pageUnderTest, WAV } from './browser.ts';
import type { Tab } from './tab.ts';

const under = pageUnderTest();

/** From now on so much silence is heard, and all of it, whenever the second press comes. */
const hearMs = ({ page }: Tab, ms: number): Promise<unknown> =>
  page.evaluate(`AudioContext.prototype.createMediaStreamSource = function () {
    const length = this.sampleRate * ${ms / 1_000};
    const source = new AudioBufferSourceNode(this, {
      buffer: new AudioBuffer({ length, sampleRate: this.sampleRate }),
    });
    // Not before it is connected: what it plays until then nobody hears.
    const connect = source.connect.bind(source);
    source.connect = (next) => { connect(next); source.start(); return next; };
    delete document.body.dataset.heard;
    source.onended = () => { document.body.dataset.heard = ''; };
    return source;
  }`);

async function twoPresses(tab: Tab): Promise<void> {
  await tab.press();
  await tab.page.locator('body[data-state="recording"][data-heard]').waitFor();
  await tab.press();
}

describe('the microphone', () => {
  it('is asked for with a token alone, and let go when the answer comes too late', async () => {
    const { tab, page, complaints } = await under.open('en-GB');
    await tab.press();
    await tab.says('token_missing');
    await page.locator('#token:focus').waitFor();
    await tab.signIn();
    await page.evaluate(`{
      const devices = navigator.mediaDevices;
      const open = devices.getUserMedia.bind(devices);
      devices.getUserMedia = async (constraints) => {
        await new Promise((allow) => addEventListener('allowed', allow, { once: true }));
        return open(constraints);
      };
    }`);
    await tab.watchMicrophone();
    // Pressed again while the browser still asks about the microphone: nobody has to answer it first.
    await tab.press();
    await tab.until('opening');
    await tab.press();
    await tab.says('too_short');
    await tab.until('idle');
    await page.evaluate(`dispatchEvent(new Event('allowed'))`);
    await tab.microphoneLetGo();
    expect(complaints).toEqual([]);
  });

  it('is said to listen from its first sound on', async () => {
    const { tab, page } = await under.ready('en-GB');
    await page.evaluate(`{
      const source = AudioContext.prototype.createMediaStreamSource;
      AudioContext.prototype.createMediaStreamSource = function (stream) {
        const node = source.call(this, stream);
        const connect = node.connect.bind(node);
        node.connect = (next) => addEventListener('heard', () => connect(next), { once: true });
        document.body.dataset.open = '';
        return node;
      };
    }`);
    await tab.press();
    await page.locator('body[data-open]').waitFor();
    expect(await tab.state()).toBe('opening');
    await page.evaluate(`dispatchEvent(new Event('heard'))`);
    await tab.until('recording');
  });

  it('that is heard for less than 200 ms is said to be pressed too shortly', async () => {
    const { tab, page } = await under.ready('en-GB');
    await hearMs(tab, 150);
    // Its stream holds the slot no longer: the service itself would end it after 10 s.
    const streaming = page.waitForEvent('websocket');
    await twoPresses(tab);
    await tab.says('too_short');
    const stream = await streaming;
    await expect.poll(() => stream.isClosed(), { timeout: 5_000 }).toBe(true);

    // A longer one is recognized to its last sample, though that fills no whole frame.
    const shown = await tab.listenTo('#transcript');
    await hearMs(tab, 450);
    await twoPresses(tab);
    await tab.resultText();
    expect(await tab.figure('audio_ms')).toBeGreaterThanOrEqual(450);
    expect(await shown()).toEqual(['Listening…', '', expect.stringContaining('Press the button')]);

    // One that the page ends itself is never too short: it is kept, to try again with the right token.
    await tab.button('Change token').click();
    await page.locator('#token').fill('wrong');
    await hearMs(tab, 150);
    await tab.press();
    await tab.says('unauthorized');
    await tab.button('Try again').waitFor();
    await tab.signIn();
    await tab.button('Try again').click();
    await tab.resultText();
  });

  it('that cannot be had is said to be refused, missing or in use', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    // Chromium's fake microphone cannot be refused or unplugged, so its answers without one are played here.
    for (const [error, kind] of [
      [`new DOMException('', 'NotAllowedError')`, 'microphone_refused'],
      [`new DOMException('', 'NotFoundError')`, 'microphone_missing'],
      [`new DOMException('', 'NotReadableError')`, 'microphone_in_use'],
      [`new DOMException('', 'AbortError')`, 'microphone_in_use'],
      [`new DOMException('', 'SecurityError')`, 'microphone_refused'],
      // What WebKit says without one.
      [`{ name: 'OverconstrainedError', constraint: '' }`, 'microphone_missing'],
    ] as const) {
      await page.evaluate(`navigator.mediaDevices.getUserMedia = () => Promise.reject(${error})`);
      await tab.press();
      await tab.says(kind);
    }
    await page.evaluate(`Object.defineProperty(navigator, 'mediaDevices', { value: undefined })`);
    await tab.press();
    await tab.says('browser_too_old');
    expect(complaints).toEqual([]);
  });

  it('can be chosen where there are several', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    await tab.watchMicrophone();
    const recordedWith = async () => {
      await tab.press();
      await tab.until('recording');
      const label = await page.evaluate('opened.getAudioTracks()[0].label');
      await tab.press();
      await tab.until('idle');
      return label;
    };
    expect(await recordedWith()).toBe('Fake Default Audio Input');
    const choice = page.getByRole('combobox', { name: 'Microphone' });
    const names = ['Chosen by the system', 'Fake Audio Input 1', 'Fake Audio Input 2'];
    expect(await choice.locator('option').allTextContents()).toEqual(names);
    await choice.selectOption('Fake Audio Input 2');
    // The space bar is the list's own while it has the focus.
    await choice.press('Space');
    await choice.press('Escape');
    expect(await tab.state()).toBe('idle');
    expect(await recordedWith()).toBe('Fake Audio Input 2');
    // It is gone: the system chooses again. One that is left needs no choice.
    await page.evaluate(`{
      const devices = navigator.mediaDevices;
      const list = devices.enumerateDevices.bind(devices);
      devices.enumerateDevices = async () => (await list()).slice(0, 2);
      devices.dispatchEvent(new Event('devicechange'));
    }`);
    await choice.waitFor({ state: 'hidden' });
    expect(await page.locator('#microphone').inputValue()).toBe('');
    expect(complaints).toEqual([]);
  });

  it('that gives no sound at all is said to be silent', async () => {
    const { tab, page } = await under.ready('en-GB');
    await page.clock.install();
    await page.evaluate(`AudioContext.prototype.createMediaStreamSource = () => ({
      connect() { document.body.dataset.open = ''; },
      disconnect() {},
    })`);
    await tab.press();
    await page.locator('body[data-open]').waitFor();
    await page.clock.fastForward(4_000);
    await tab.says('microphone_silent');
    await tab.until('idle');
  });

  it('is let go when the service no longer answers', async () => {
    const { tab, page } = await under.ready('en-GB');
    await page.clock.install();
    await page.evaluate('AudioWorklet.prototype.addModule = () => new Promise(() => {})');
    await tab.watchMicrophone();
    await tab.press();
    await tab.until('opening');
    await page.clock.fastForward(10_000);
    await tab.says('connection_lost');
    await tab.until('idle');
    await tab.microphoneLetGo();
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('closed');
  });

  it('is for pages with HTTPS; the others take files, and copy without a clipboard of their own', async () => {
    const origin = `http://${INSECURE_HOST}:${under.service.wire.port}`;
    const { tab, page } = await openReady(under.browser, origin, 'en-GB');
    await tab.press();
    await tab.says('page_not_secure');
    await tab.choose(WAV);
    const text = await tab.resultText();
    await tab.button('Copy 1. h02.wav').focus();
    await page.keyboard.press('Enter');
    // The focus stays at the button, and nothing is left that a Tab would lead to.
    await page.locator('#latest button:focus', { hasText: 'Copied' }).waitFor();
    expect(await page.locator('#announcement').textContent()).toBe('Copied');
    expect(await page.locator('textarea').count()).toBe(0);
    await tab.button('Change token').click();
    await page.keyboard.press('Control+V');
    expect(await page.locator('#token').inputValue()).toBe(text);
  });
});
