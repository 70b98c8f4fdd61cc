import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { chunk, wavFile } from '../support/wav.ts';
import {
  figure,
  launchBrowser,
  listenTo,
  notice,
  openReady,
  resultText,
  savedRecording,
  secondsLeft,
  shoot,
} from './page-browser.ts';
import { type PageService, startPageService } from './page-service.ts';

const FIXTURES = join(packageRoot(), 'test', 'fixtures');
const ONE_TEXT = readFileSync(join(FIXTURES, 'h09.txt'), 'utf8').trim();
const ONE_WAV = readFileSync(join(FIXTURES, 'h09.wav'));
const OTHER_TEXT = readFileSync(join(FIXTURES, 'h08.txt'), 'utf8').trim();
const OTHER_WAV = join(FIXTURES, 'h08.wav');

const HEADER_BYTES = 44;
let service: PageService;
let browser: Browser;

beforeAll(async () => {
  service = await startPageService();
  service.startInference();
  browser = await launchBrowser(OTHER_WAV);
}, 30_000);

afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

const readyPage = (locale?: string) => openReady(browser, service.origin, locale);

const silence = (seconds: number): Buffer => Buffer.alloc(Math.round(seconds * 16_000) * 2);

/** A 48 kHz stereo WAV of 32-bit floats with the sound of a 16 kHz mono one, linear between the samples. */
function asStudioWav(wav: Buffer): Buffer {
  const pcm = wav.subarray(HEADER_BYTES);
  const sample = (n: number): number => (2 * n + 1 < pcm.length ? pcm.readInt16LE(2 * n) / 32_768 : 0);
  const samples = (pcm.length / 2) * 3;
  const data = Buffer.alloc(samples * 8);
  for (let n = 0; n < samples; n += 1) {
    const part = (n % 3) / 3;
    const value = sample(Math.floor(n / 3)) * (1 - part) + sample(Math.floor(n / 3) + 1) * part;
    data.writeFloatLE(value, 8 * n);
    data.writeFloatLE(value, 8 * n + 4);
  }
  return wavFile(data, { formatCode: 3, channels: 2, sampleRateHz: 48_000, bits: 32 });
}

/** Frames of 36 ms, in 36 bytes each: 8 kbit/s, 16 kHz, mono. */
function silentMp3(seconds: number): Buffer {
  const frame = Buffer.alloc(36);
  frame.writeUInt32BE(0xff_f3_18_c4);
  return Buffer.alloc(36 * Math.ceil(seconds / 0.036), frame);
}

/** How many pixels of a waveform are in full colour: its bars, as far as they are filled (or played). */
const fullBars = (page: Page, selector: string): Promise<number> =>
  page.evaluate(`(() => {
    const canvas = document.querySelector('${selector}');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, n) => n % 4 === 3 && value === 255).length;
  })()`);

/** Sizes of everything that the page, its modules and its style name, by path. */
async function pageFiles(origin: string): Promise<Map<string, number>> {
  const bytes = new Map<string, number>();
  const paths = ['/'];
  for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
    if (bytes.has(path)) continue;
    const response = await fetch(origin + path);
    expect(response.status, path).toBe(200);
    const content = await response.text();
    bytes.set(path, Buffer.byteLength(content));
    for (const [, name] of content.matchAll(/['"`](?:\.|page)\/([\w-]+\.(?:js|css|svg))['"`]/g))
      paths.push(`/page/${name}`);
  }
  return bytes;
}

describe('files on the page', { timeout: 60_000 }, () => {
  it('takes a file by the button, of any rate and form', async () => {
    const { page, complaints } = await readyPage('en-GB');
    // Or the browser refuses the clipboard to the page, which then copies as it does without HTTPS.
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const long = `studio-${'x'.repeat(200)}.2.m4a`;
    const studio = { name: long, mimeType: 'audio/wav', buffer: asStudioWav(ONE_WAV) };
    for (const [file, text] of [
      [OTHER_WAV, OTHER_TEXT],
      [studio, ONE_TEXT],
    ] as const) {
      const choosing = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Open file' }).click();
      await (await choosing).setFiles(file);
      await page.locator('#transcript', { hasText: text }).waitFor();
      expect(await resultText(page)).toBe(text);
      expect(await figure(page, 'inference_ms')).toBeGreaterThan(0);
    }
    expect(await page.locator('#recordings li').count()).toBe(2);
    // All of a long name is there to read.
    expect(
      await page
        .locator('#recordings .name')
        .first()
        .evaluate((e) => e.scrollWidth - e.clientWidth),
    ).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await shoot(page, 'files');
    // Each button says which recording is meant, also once it has other words.
    for (const name of ['1. h08.wav', `2. ${long}`]) {
      await page.getByRole('button', { name: `Play ${name}`, exact: true }).waitFor();
      await page.getByRole('link', { name: `Save WAV ${name}`, exact: true }).waitFor();
      await page.getByRole('button', { name: `Copy ${name}`, exact: true }).click();
      await page.getByRole('button', { name: `Copied ${name}`, exact: true }).waitFor();
    }
    await page.getByRole('button', { name: 'Copy 1. h08.wav', exact: true }).waitFor();
    // Copied is what stands there, and the field is where it can be seen.
    await page.getByRole('button', { name: 'Change token' }).click();
    await page.keyboard.press('Control+V');
    expect(await page.locator('#token').inputValue()).toBe(ONE_TEXT);
    // As loud as it was, at all times of its own; in the colours of the moment.
    const stage = '#stage .wave';
    const first = '#recordings li:first-child .wave';
    expect(await fullBars(page, stage)).toBeGreaterThan(0);
    const all = await fullBars(page, first);
    expect(all).toBeGreaterThan(0);
    const picture = (selector: string) => page.evaluate(`document.querySelector('${selector}').toDataURL()`);
    const light = [await picture(stage), await picture(first)];
    await page.emulateMedia({ colorScheme: 'dark' });
    for (const [n, selector] of [stage, first].entries())
      await expect.poll(() => picture(selector)).not.toBe(light[n]);
    // One plays at a time, and only that one says so.
    const players = page.locator('#recordings .play');
    for (const n of [0, 1]) {
      await players.nth(n).click();
      await page.locator(`#recordings li:nth-child(${n + 1}) [data-playing]`).waitFor();
      expect(await page.locator('#recordings [data-playing]').count()).toBe(1);
      if (n === 0) await expect.poll(() => fullBars(page, first)).toBeLessThan(all);
      else expect(await fullBars(page, first)).toBe(all);
      await page.getByRole('button', { name: /^Pause/ }).waitFor();
    }
    // What is saved is a WAV, whatever the file was.
    const saves = page.locator('#recordings [download]');
    expect(await saves.nth(0).getAttribute('download')).toBe(long.replace(/m4a$/, 'wav'));
    expect(await saves.nth(1).getAttribute('download')).toBe('h08.wav');
    // Of both channels the mean, as loud as each; the samples of one that was right already are the same to the bit.
    const peak = (wav: Buffer): number =>
      new Int16Array(Uint8Array.from(wav.subarray(HEADER_BYTES)).buffer).reduce(
        (most, sample) => Math.max(most, Math.abs(sample)),
        0,
      );
    expect(peak(await savedRecording(page)) / peak(ONE_WAV)).toBeCloseTo(1, 1);
    await page.locator('#file').setInputFiles(OTHER_WAV);
    await page.locator('#recordings li').nth(2).waitFor();
    const right = readFileSync(OTHER_WAV).subarray(HEADER_BYTES);
    expect((await savedRecording(page)).subarray(HEADER_BYTES).equals(right)).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('says what is wrong with a file', async () => {
    const { page } = await readyPage('en-GB');
    const input = page.locator('#file');
    const file = (buffer: Buffer) => ({ name: 'some.wav', mimeType: 'audio/wav', buffer });
    // What this browser cannot decode is named, with the way out.
    await input.setInputFiles(file(Buffer.from('#!AMR\nno sound at all')));
    await notice(page, 'file_unreadable')
      .getByText('The file is AMR, not WAV. Convert it: ffmpeg -i')
      .waitFor();
    await input.setInputFiles(file(Buffer.alloc(0)));
    await notice(page, 'file_empty').waitFor();
    // A browser decodes what is there of a WAV: a part of its words would pass for all.
    const pcm = ONE_WAV.subarray(HEADER_BYTES);
    const tagged = wavFile(pcm, { before: [chunk('LIST', Buffer.from('odd'))] });
    for (const part of [tagged.subarray(0, 60_000), ONE_WAV.subarray(0, HEADER_BYTES)]) {
      await input.setInputFiles(file(part));
      await notice(page, 'file_cut_off').waitFor();
      await input.setInputFiles(file(Buffer.alloc(0)));
      await notice(page, 'file_empty').waitFor();
    }
    // Whole, whatever the header says besides.
    for (const header of [{ dataBytes: ONE_WAV.length }, { dataBytes: 0 }, { blockBytes: 4 }]) {
      await input.setInputFiles(file(wavFile(pcm, header)));
      expect(await resultText(page), JSON.stringify(header)).toBe(ONE_TEXT);
    }
    // Nothing of a result stays beside what follows it.
    await page.locator('.facts button').waitFor();
    await input.setInputFiles(file(Buffer.alloc(0)));
    await notice(page, 'file_empty').waitFor();
    expect(await page.locator('.facts button').isVisible()).toBe(false);
    expect(await fullBars(page, '#stage .wave')).toBe(0);
    await input.setInputFiles(file(wavFile(silence(15.01))));
    await notice(page, 'file_too_long').waitFor();
    expect(await notice(page, 'file_too_long').getAttribute('title')).toContain('15.010 s long');
    await shoot(page, 'file-too-long');
    expect(await page.locator('#alert').textContent()).toContain('longer than 15 seconds');
    await input.setInputFiles(file(wavFile(silence(15))));
    await resultText(page);
    expect(await figure(page, 'audio_ms')).toBe(15_000);
    // The same file, chosen once more, is a change again.
    expect(await input.inputValue()).toBe('');
    expect(await page.locator('#alert').textContent()).toBe('');
    // The last result's sound does not go on beside the next one, nor is it read there.
    await page.locator('#recordings .play').first().click();
    await page.locator('#recordings [data-playing]').waitFor();
    // WebKit on Linux never says so of some files.
    await page.clock.install();
    await page.evaluate(`OfflineAudioContext.prototype.decodeAudioData = () => {
      document.body.dataset.decoding = '';
      return new Promise(() => {});
    }`);
    await input.setInputFiles({ name: 'memo.mp3', mimeType: 'audio/mpeg', buffer: silentMp3(1) });
    await page.locator('body[data-decoding]').waitFor();
    await page.locator('#recordings [data-playing]').waitFor({ state: 'detached', timeout: 5_000 });
    expect(await page.locator('#announcement').textContent()).toBe('');
    await page.clock.fastForward(20_000);
    await notice(page, 'file_unreadable').waitFor();
    await page.locator('body[data-state="idle"]').waitFor();
    await input.setInputFiles(file(Buffer.alloc(0)));
    await notice(page, 'file_empty').waitFor({ timeout: 5_000 });
    // A browser's own recorder leaves the length open, and such a file is not too long.
    await page.evaluate(`{
      const real = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, 'duration');
      const get = () => {
        Object.defineProperty(HTMLMediaElement.prototype, 'duration', real);
        return Infinity;
      };
      Object.defineProperty(HTMLMediaElement.prototype, 'duration', { ...real, get });
      delete document.body.dataset.decoding;
    }`);
    await input.setInputFiles({ name: 'memo.webm', mimeType: 'audio/webm', buffer: silentMp3(1) });
    await page.locator('body[data-decoding]').waitFor({ timeout: 5_000 });
    await page.clock.fastForward(20_000);
    await page.locator('body[data-state="idle"]').waitFor();
    // An hour of MP3 would take seconds and gigabytes, so nothing of it is decoded.
    await input.setInputFiles({ name: 'meeting.mp3', mimeType: 'audio/mpeg', buffer: silentMp3(3_600) });
    await notice(page, 'file_too_long').waitFor();
    await input.setInputFiles(file(Buffer.alloc(0)));
    await notice(page, 'file_empty').waitFor();
    // Nor of any file over 32 MB, whatever it is.
    await page.evaluate(`{
      const files = new DataTransfer();
      files.items.add(new File([new Uint8Array(32_000_001)], 'film.mp4'));
      const input = document.querySelector('#file');
      input.files = files.files;
      input.dispatchEvent(new Event('change'));
    }`);
    await notice(page, 'file_too_long').waitFor();
  });

  it('keeps the last 20, says of a proxy that it is away, and shows what nobody expects as it is', async () => {
    const { page } = await readyPage('en-GB');
    const answers = [
      { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' },
      { status: 500, json: { error: 'moon', message: 'full' } },
    ];
    await page.route('**/v1/audio/transcriptions', (route) =>
      route.fulfill(answers.shift() ?? { json: { text: '', audio_ms: 100, inference_ms: 1 } }),
    );
    const short = { name: 'some.wav', mimeType: 'audio/wav', buffer: wavFile(silence(0.1)) };
    const add = () => page.locator('#file').setInputFiles(short);
    const spoken = await listenTo(page, '#status');
    await page.route('**/readyz', (route) => route.abort());
    await add();
    await notice(page, 'connection_lost').waitFor();
    await notice(page, 'unexpected').getByText('moon: full').waitFor();
    const oldest = await page.locator('#recordings [download]').getAttribute('href');
    for (let n = 2; n <= 22; n += 1) {
      await add();
      await page.locator(`#recording-${n}`).waitFor();
      await page.locator('body[data-state="idle"]').waitFor();
    }
    // Each result says so, long before the service is asked again.
    expect(await spoken()).toContain('Ready');
    // One that has been played to its end can be played again.
    await page.locator('#recordings .play').first().click();
    await page.locator('#recordings [data-playing]').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Play 22. some.wav', exact: true }).waitFor();
    const names = await page.locator('#recordings .name').allTextContents();
    expect(names).toEqual(Array.from({ length: 20 }, (_, n) => `${22 - n}. some.wav`));
    // Its memory is free, too.
    const load = `new Promise((loaded) => {
      const audio = new Audio('${oldest}');
      audio.onloadedmetadata = () => loaded('there');
      audio.onerror = () => loaded('gone');
    })`;
    expect(await page.evaluate(load)).toBe('gone');
    // No words: nothing to copy, and it is said so.
    await page.locator('#transcript', { hasText: 'No words were recognized' }).waitFor();
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0);
  });

  it('takes a file that is dropped on it', async () => {
    const { page } = await readyPage();
    const base64 = readFileSync(OTHER_WAV).toString('base64');
    const drag = (type: string, what = 'file', relatedTarget = 'null'): Promise<unknown> =>
      page.evaluate(`{
        const files = new DataTransfer();
        const bytes = Uint8Array.from(atob('${base64}'), (character) => character.charCodeAt(0));
        if ('${what}' === 'file') files.items.add(new File([bytes], '昨天.wav', { type: 'audio/wav' }));
        else files.setData('text/plain', '昨天');
        const options = { bubbles: true, cancelable: true, dataTransfer: files, relatedTarget: ${relatedTarget} };
        document.querySelector('#stage').dispatchEvent(new DragEvent('${type}', options));
      }`);
    // What is no file is for the token's field.
    for (const type of ['dragover', 'drop']) expect(await drag(type, 'text')).toBe(true);
    expect(await page.getByText('把录音拖放到这里').isVisible()).toBe(false);
    await drag('dragover');
    await page.getByText('把录音拖放到这里').waitFor();
    // From one element of the page to another one.
    await drag('dragleave', 'file', 'document.body');
    expect(await page.getByText('把录音拖放到这里').isVisible()).toBe(true);
    await drag('dragleave');
    await page.getByText('把录音拖放到这里').waitFor({ state: 'hidden' });
    await drag('dragover');
    await page.getByText('把录音拖放到这里').waitFor();
    await shoot(page, 'dragging');
    // Or the browser would open it in place of the page.
    for (const type of ['dragover', 'drop']) expect(await drag(type)).toBe(false);
    expect(await resultText(page)).toBe(OTHER_TEXT);
    expect(await figure(page, 'inference_ms')).toBeGreaterThan(0);
    expect(await page.getByText('把录音拖放到这里').isVisible()).toBe(false);
    // In the middle of a recording that one goes on, and the page says why the file is not taken.
    await page.locator('#record').click();
    await page.locator('body[data-state="recording"]').waitFor();
    await drag('dragover');
    expect(await page.getByText('把录音拖放到这里').isVisible()).toBe(false);
    expect(await page.locator('#choose').isDisabled()).toBe(true);
    await drag('drop');
    await page.locator('#notice[data-tone="wait"]', { hasText: '一次只能处理一段录音' }).waitFor();
    expect(await page.locator('#announcement').textContent()).toContain('一次只能处理一段录音');
    expect(await page.locator('body').getAttribute('data-state')).toBe('recording');
    await shoot(page, 'dropped-while-recording');
    await secondsLeft(page, 14);
    await page.locator('#record').click();
    await resultText(page);
    expect(await page.locator('#recordings .name').allTextContents()).toEqual(['2. 麦克风', '1. 昨天.wav']);
    expect(await page.locator('#notice').isVisible()).toBe(false);
  });

  it('is under 70,000 bytes in all, uncompressed, with the words of both languages', async () => {
    const bytes = await pageFiles(service.directOrigin);
    const names = ['main.js', 'texts-en.js', 'texts-zh.js', 'capture-worklet.js', 'page.css', 'icon.svg'];
    expect([...bytes.keys()].sort()).toEqual(['/', ...names.map((name) => `/page/${name}`)].sort());
    expect([...bytes.values()].reduce((sum, size) => sum + size, 0)).toBeLessThan(70_000);
  });
});
