import type { WebSocket } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  figure,
  INSECURE_HOST,
  listenTo,
  notice,
  openReady,
  pageUnderTest,
  resultText,
  shoot,
  signIn,
  WAV,
} from './browser.ts';

const under = pageUnderTest();

describe('the microphone', () => {
  it('is asked for with a token alone; too short a press, silence and its absence are said', async () => {
    const { page, complaints } = await under.open('en-GB');
    const streams: WebSocket[] = [];
    page.on('websocket', (stream) => streams.push(stream));
    await page.locator('#record').click();
    await notice(page, 'token_missing').waitFor();
    await page.locator('#token:focus').waitFor();
    await shoot(page, 'token-missing');
    await signIn(page);
    // Pressed again while the browser still asks about the microphone: nobody has to answer it first, and an answer that comes late lets it go.
    await page.evaluate(`{
        const devices = navigator.mediaDevices;
        const open = devices.getUserMedia.bind(devices);
        devices.getUserMedia = async (constraints) => {
          await new Promise((allow) => addEventListener('allowed', allow, { once: true }));
          return (window.opened = await open(constraints));
        };
      }`);
    await page.locator('#record').click();
    await page.locator('body[data-state="opening"]').waitFor();
    await page.locator('#record').click();
    await notice(page, 'too_short').waitFor();
    await page.locator('body[data-state="idle"]').waitFor();
    await page.evaluate(`dispatchEvent(new Event('allowed'))`);
    await expect.poll(() => page.evaluate('window.opened?.getTracks()[0].readyState')).toBe('ended');
    await shoot(page, 'too-short');
    // Nobody is asked to speak before the microphone, open already, gives its first sound.
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
    await page.locator('#record').click();
    await page.evaluate(`dispatchEvent(new Event('allowed'))`);
    await page.locator('body[data-open]').waitFor();
    expect(await page.locator('body').getAttribute('data-state')).toBe('opening');
    await page.evaluate(`dispatchEvent(new Event('heard'))`);
    await page.locator('body[data-state="recording"]').waitFor();
    await page.locator('#record').click();
    await page.locator('body[data-state="idle"]').waitFor();
    // So much is heard, and all of it, whenever the second press comes.
    const hearMs = (ms: number) =>
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
    const twoPresses = async () => {
      await page.locator('#record').click();
      await page.evaluate(`dispatchEvent(new Event('allowed'))`);
      await page.locator('body[data-state="recording"][data-heard]').waitFor();
      await page.locator('#record').click();
    };
    await hearMs(150);
    await twoPresses();
    await notice(page, 'too_short').waitFor();
    // Its stream holds the slot no longer: the service itself would end it after 10 s.
    const open = () => streams.filter((stream) => !stream.isClosed());
    expect(streams).not.toEqual([]);
    await expect.poll(open, { timeout: 5_000 }).toEqual([]);
    const shown = await listenTo(page, '#transcript');
    await hearMs(450);
    await twoPresses();
    await resultText(page);
    expect(await shown()).toEqual(['Listening…', '', expect.stringContaining('Press the button')]);
    expect(await page.locator('#latest .said').textContent()).toContain('No words were recognized');
    // To its last sample, though that fills no whole frame; and there is nothing to copy.
    expect(await figure(page, 'audio_ms')).toBeGreaterThanOrEqual(450);
    expect(await page.locator('#latest').getByRole('button', { name: 'Copy' }).count()).toBe(0);
    // Both presses count also behind another recording, whose end nobody can ask for any more.
    await page.locator('#record').click();
    await page.locator('body[data-state="opening"]').waitFor();
    await page.locator('#record').click();
    await notice(page, 'too_short').waitFor();
    // A recording that the page ends itself is never too short: it is kept, to try again with the right token.
    await page.getByRole('button', { name: 'Change token' }).click();
    await page.locator('#token').fill('wrong');
    await hearMs(150);
    await page.locator('#record').click();
    await page.evaluate(`dispatchEvent(new Event('allowed'))`);
    await notice(page, 'unauthorized').waitFor();
    await signIn(page);
    await page.getByRole('button', { name: 'Try again' }).click();
    await resultText(page);
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
      await page.locator('#record').click();
      await notice(page, kind).waitFor();
      await shoot(page, kind);
    }
    await page.evaluate(`Object.defineProperty(navigator, 'mediaDevices', { value: undefined })`);
    await page.locator('#record').click();
    await notice(page, 'browser_too_old').waitFor();
    expect(complaints).toEqual([]);
  });

  it('can be chosen where there are several', async () => {
    const { page, complaints } = await under.ready('en-GB');
    await page.evaluate(`{
      const devices = navigator.mediaDevices;
      const open = devices.getUserMedia.bind(devices);
      devices.getUserMedia = async (constraints) => (window.opened = await open(constraints));
    }`);
    const record = async () => {
      await page.locator('#record').click();
      await page.locator('body[data-state="recording"]').waitFor();
      const label = await page.evaluate('opened.getAudioTracks()[0].label');
      await page.locator('#record').click();
      await page.locator('body[data-state="idle"]').waitFor();
      return label;
    };
    expect(await record()).toBe('Fake Default Audio Input');
    const choice = page.getByRole('combobox', { name: 'Microphone' });
    const names = ['Chosen by the system', 'Fake Audio Input 1', 'Fake Audio Input 2'];
    expect(await choice.locator('option').allTextContents()).toEqual(names);
    await choice.selectOption('Fake Audio Input 2');
    // The space bar is the list's own while it has the focus.
    await choice.press('Space');
    await choice.press('Escape');
    expect(await page.locator('body').getAttribute('data-state')).toBe('idle');
    await shoot(page, 'microphones');
    expect(await record()).toBe('Fake Audio Input 2');
    expect(await choice.inputValue()).not.toBe('');
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
    const { page } = await under.ready('en-GB');
    await page.clock.install();
    await page.evaluate(`AudioContext.prototype.createMediaStreamSource = () => ({
      connect() { document.body.dataset.open = ''; },
      disconnect() {},
    })`);
    await page.locator('#record').click();
    await page.locator('body[data-open]').waitFor();
    await page.clock.fastForward(4_000);
    await notice(page, 'microphone_silent').waitFor();
    await page.locator('body[data-state="idle"]').waitFor();
  });

  it('is let go when the service no longer answers', async () => {
    const { page } = await under.ready('en-GB');
    await page.clock.install();
    await page.evaluate(`{
      AudioWorklet.prototype.addModule = () => new Promise(() => {});
      const devices = navigator.mediaDevices;
      const open = devices.getUserMedia.bind(devices);
      devices.getUserMedia = async (constraints) => (window.opened = await open(constraints));
      window.AudioContext = class extends AudioContext {
        constructor() {
          super();
          window.recordingContext = this;
        }
      };
    }`);
    await page.locator('#record').click();
    await page.locator('body[data-state="opening"]').waitFor();
    await page.clock.fastForward(10_000);
    await notice(page, 'connection_lost').waitFor();
    await page.locator('body[data-state="idle"]').waitFor();
    const tracks = 'opened.getTracks().map(({ readyState }) => readyState)';
    await expect.poll(() => page.evaluate(tracks)).toEqual(['ended']);
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('closed');
  });

  it('is for pages with HTTPS; the others take files, and copy without a clipboard of their own', async () => {
    const origin = `http://${INSECURE_HOST}:${under.service.wire.port}`;
    const { page } = await openReady(under.browser, origin, 'en-GB');
    await page.locator('#record').click();
    await notice(page, 'page_not_secure').waitFor();
    await shoot(page, 'not-secure');
    await page.locator('#file').setInputFiles(WAV);
    const text = await resultText(page);
    await page.getByRole('button', { name: 'Copy 1. h02.wav' }).focus();
    await page.keyboard.press('Enter');
    // It stays at the button.
    await page.locator('#latest button:focus', { hasText: 'Copied' }).waitFor();
    expect(await page.locator('#announcement').textContent()).toBe('Copied');
    // Nothing is left that a Tab would lead to.
    expect(await page.locator('textarea').count()).toBe(0);
    await page.getByRole('button', { name: 'Change token' }).click();
    await page.keyboard.press('Control+V');
    expect(await page.locator('#token').inputValue()).toBe(text);
  });
});
