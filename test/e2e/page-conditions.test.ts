import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Route, WebSocket } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { upload } from '../support/api.ts';
import type { ProcessUnderTest } from '../support/inference-process.ts';
import { wavFile } from '../support/wav.ts';
import {
  figure,
  INSECURE_HOST,
  launchBrowser,
  listenTo,
  notice,
  openPage,
  openReady,
  resultText,
  savedRecording,
  secondsLeft,
  shoot,
  signIn,
} from './page-browser.ts';
import { type PageService, startPageService, TOKEN } from './page-service.ts';

const FIXTURES = join(packageRoot(), 'test', 'fixtures');
const WAV = join(FIXTURES, 'h02.wav');
const TEXT = readFileSync(join(FIXTURES, 'h02.txt'), 'utf8').trim();

const folder = mkdtempSync(join(tmpdir(), 'asr-page-'));
const microphone = join(folder, 'microphone.wav');
let service: PageService;
let browser: Browser;
let inference: ProcessUnderTest;

beforeAll(async () => {
  const speech = readFileSync(WAV).subarray(44);
  writeFileSync(microphone, wavFile(Buffer.concat([speech, speech, speech, speech, speech])));
  service = await startPageService();
  browser = await launchBrowser(microphone);
}, 30_000);

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  rmSync(folder, { recursive: true });
});

describe('the page', { timeout: 60_000 }, () => {
  it('waits for the model, ends a recording at 15 s by itself, and explains a page without HTTPS', async () => {
    const { page, complaints } = await openPage(browser, service.origin, 'en-GB');
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="loading"]').waitFor();
    await page.locator('#file').setInputFiles(WAV);
    await notice(page, 'not_ready').waitFor();
    await shoot(page, 'not-ready');
    inference = service.startInference();
    expect(await resultText(page)).toBe(TEXT);
    // A screen reader says it in its own language's voice.
    expect(await page.locator('#announcement [lang="zh"]').textContent()).toBe(TEXT);
    expect(await page.locator('#transcript[lang="zh-CN"]').textContent()).toBe(TEXT);
    expect(await page.locator('#recordings .said[lang="zh-CN"]').textContent()).toBe(TEXT);
    const spoken = await listenTo(page, '#announcement');

    await page.getByRole('button', { name: 'Start recording' }).press('Enter');
    await page.locator('body[data-state="recording"]').waitFor();
    await page.locator('body[data-state="idle"]').waitFor();
    await resultText(page);
    expect(await figure(page, 'audio_ms')).toBe(15_000);
    expect(await spoken()).toEqual(
      expect.arrayContaining([
        'Listening…',
        '5 seconds left',
        'The 15 seconds are up; the recording has ended.',
      ]),
    );
    expect(await page.locator('#left').textContent()).toBe('15');
    expect(await figure(page, 'finalize_ms')).toBeGreaterThan(0);
    await shoot(page, 'limit');
    expect(complaints).toEqual([]);

    const insecure = await openReady(browser, service.origin.replace('127.0.0.1', INSECURE_HOST), 'en-GB');
    await insecure.page.locator('#record').click();
    await notice(insecure.page, 'page_not_secure').waitFor();
    await shoot(insecure.page, 'not-secure');
    await insecure.page.locator('#file').setInputFiles(WAV);
    expect(await resultText(insecure.page)).toBe(TEXT);
    // There is no clipboard for such a page, and copying works all the same.
    await insecure.page.getByRole('button', { name: 'Copy' }).first().click();
    await insecure.page.getByRole('button', { name: 'Change token' }).click();
    await insecure.page.keyboard.press('Control+V');
    expect(await insecure.page.locator('#token').inputValue()).toBe(TEXT);
  });

  it('keeps a recording that the model cannot follow, and has it recognized as a whole', async () => {
    const { page, complaints } = await openReady(browser, service.origin);
    await page.locator('#record').click();
    await page.locator('#transcript:has(.changing)').waitFor();
    inference.kill('SIGSTOP');
    const overloaded = notice(page, 'overloaded');
    await overloaded.waitFor();
    expect(await overloaded.textContent()).toBe('服务跟不上实时音频。请继续说：结束后会识别整段录音。');
    expect(await overloaded.getAttribute('data-tone')).toBe('wait');
    expect(await page.locator('body').getAttribute('data-state')).toBe('recording');
    expect(await page.locator('#announcement').textContent()).toContain('服务跟不上实时音频');
    await shoot(page, 'overloaded');
    await page.locator('#record').click();
    await page.locator('body[data-state="recognizing"]').waitFor();
    expect(await page.locator('#record').getAttribute('aria-disabled')).toBe('true');
    expect(await page.locator('#record').getAttribute('aria-busy')).toBe('true');
    await overloaded.waitFor({ state: 'hidden' });
    await shoot(page, 'overloaded-recognizing');
    const turnSeconds = () =>
      page.evaluate("getComputedStyle(document.querySelector('#record .shape')).animationDuration");
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    expect(await turnSeconds()).toBe('0.9s');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await turnSeconds()).toBe('3s');
    inference.kill('SIGCONT');
    const text = await resultText(page);
    expect(text).not.toBe('');
    const saved = await savedRecording(page);
    const answer = await upload(service.directOrigin, saved, { authorization: `Bearer ${TOKEN}` });
    expect(answer.body).toMatchObject({ text, audio_ms: await figure(page, 'audio_ms') });
    expect(complaints).toEqual([]);
  });

  it('ends a recording whose audio stops in the middle, and has what there is recognized', async () => {
    const { page, complaints } = await openReady(browser, service.origin, 'en-GB');
    await page.evaluate(`{
        const source = AudioContext.prototype.createMediaStreamSource;
        AudioContext.prototype.createMediaStreamSource = function (stream) {
          window.recordingContext = this;
          window.recordingStream = stream;
          return source.call(this, stream);
        };
      }`);
    await page.locator('#record').click();
    await page.locator('#transcript:has(.changing)').waitFor();
    // A touch screen lets audio start with the lifting of the finger.
    await page.evaluate('recordingContext.suspend()');
    await page.evaluate(`dispatchEvent(new PointerEvent('pointerup'))`);
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('running');
    // As a phone call does it, and a device that is gone.
    await page.evaluate('recordingContext.suspend()');
    await notice(page, 'microphone_lost').waitFor();
    await page.locator('#transcript[lang="zh-CN"]').waitFor();
    // The browser shows no microphone in use any more.
    const tracks = 'recordingStream.getTracks().map(({ readyState }) => readyState)';
    expect(await page.evaluate(tracks)).toEqual(['ended']);
    await expect.poll(() => page.evaluate('recordingContext.state')).toBe('closed');
    // As the browser says that it was pulled out: silence would come from it, not nothing.
    await page.locator('#record').click();
    await page.locator('#transcript:has(.changing)').waitFor();
    await page.evaluate("recordingStream.getAudioTracks()[0].dispatchEvent(new Event('ended'))");
    await notice(page, 'microphone_lost').waitFor();
    await page.locator('body[data-state="idle"]').waitFor();
    expect(complaints).toEqual([]);
  });

  it('says of a recording that was cut off and not recognized only that, and asks nobody to speak on', async () => {
    const { page } = await openReady(browser, service.origin, 'en-GB');
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
    await page.locator('#transcript:has(.changing)').waitFor();
    const spoken = await listenTo(page, '#announcement');
    await page.evaluate("opened.getAudioTracks()[0].dispatchEvent(new Event('ended'))");
    await page.locator('body[data-state="idle"]').waitFor();
    expect(await notice(page, 'inference_failed').isVisible()).toBe(true);
    expect(((await spoken()) as string[]).join('')).not.toContain('Keep speaking');
  });

  it('keeps nothing of a recording’s audio in the browser but its samples', async () => {
    const { page } = await openReady(browser, service.origin);
    const inspector = await page.context().newCDPSession(page);
    await inspector.send('Performance.enable');
    const audioNodes = async () => {
      await inspector.send('HeapProfiler.collectGarbage');
      const { metrics } = await inspector.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'AudioHandlers')?.value;
    };
    for (const _ of [1, 2]) {
      await page.locator('#record').click();
      await page.locator('body[data-state="recording"]').waitFor();
      expect(await audioNodes()).toBeGreaterThanOrEqual(3);
      await page.locator('#record').click();
      await page.locator('body[data-state="idle"]').waitFor();
    }
    // A few times a second: it is the collection that takes the machine's time.
    await expect.poll(audioNodes, { timeout: 20_000, interval: 250 }).toBe(0);
  });

  it('keeps what it says of a wait while another token is entered', async () => {
    const { page } = await openReady(browser, service.origin, 'en-GB');
    await page.route('**/v1/audio/transcriptions', (route) =>
      route.fulfill({ status: 409, json: { error: 'busy', message: 'busy' } }),
    );
    await page.evaluate(`{
        const { setInterval: set, clearInterval: clear } = window;
        window.ticking = new Set();
        window.setInterval = (...what) => {
          const id = set(...what);
          ticking.add(id);
          return id;
        };
        window.clearInterval = (id) => {
          ticking.delete(id);
          clear(id);
        };
      }`);
    await page.locator('#file').setInputFiles(WAV);
    await notice(page, 'busy').waitFor();
    await page.getByRole('button', { name: 'Change token' }).click();
    await page.keyboard.press('Enter');
    await page.locator('#token-form').waitFor({ state: 'hidden' });
    expect(await notice(page, 'busy').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Stop waiting' }).click();
    await notice(page, 'cancelled').waitFor();
    expect(await page.evaluate('ticking.size')).toBe(0);
  });

  it('says when there is no token, no microphone, and nothing was said', async () => {
    const { page, complaints } = await openPage(browser, service.origin, 'en-GB');
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
          source.start();
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
    expect((await shown()) as string[]).toEqual([
      expect.stringContaining('Press the button'),
      'Listening…',
      '',
      expect.stringContaining('No words were recognized'),
    ]);
    // To its last sample, though that fills no whole frame; and there is nothing to copy.
    expect(await figure(page, 'audio_ms')).toBeGreaterThanOrEqual(450);
    expect(await page.locator('#measures + button').isHidden()).toBe(true);
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
    // Chromium's fake microphone cannot be unplugged, so its answers without one are played here.
    for (const [error, kind] of [
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

  it('says that the service is away while it is still spoken to, also one that answers once more as it goes', async () => {
    const { page } = await openReady(browser, service.origin, 'en-GB');
    let answers = 0;
    await page.route('**/readyz', (route) => {
      answers += 1;
      return answers === 1 ? route.fulfill({ json: { status: 'ready', busy: false } }) : route.abort();
    });
    await page.evaluate(`window.WebSocket = class extends WebSocket {
        send() {
          this.close();
        }
      }`);
    await page.locator('#record').click();
    await notice(page, 'connection_lost').waitFor();
    await page.locator('#status[data-status="unreachable"]').waitFor({ timeout: 6_000 });
    expect(await page.locator('body').getAttribute('data-state')).toBe('recording');
  });

  it('says nothing beside a recording of the stream of the one before it', async () => {
    const { page } = await openReady(browser, service.origin, 'en-GB');
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
    for (const route of asked) await route.fulfill({ json: { status: 'ready', busy: false } });
    await page.evaluate('fetch("/healthz")');
    expect(await page.locator('#notice').isVisible()).toBe(false);
  });

  it('says how to allow a microphone that was refused', async () => {
    const refusing = await launchBrowser(microphone, ['--use-fake-ui-for-media-stream=deny']);
    onTestFinished(() => refusing.close());
    const { page } = await openReady(refusing, service.origin);
    await page.locator('#record').click();
    await notice(page, 'microphone_refused').waitFor();
    await shoot(page, 'microphone-refused');
  });
});
