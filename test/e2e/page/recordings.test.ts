import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { scriptedPcm, scriptedText } from '../../support/scripted-recognizer.ts';
import { wavFile } from '../../support/wav.ts';
import { listenTo, notice, pageUnderTest, shoot } from './browser.ts';

const under = pageUnderTest();

/** A recording of this length, as a file whose name has its number. */
const file = (number: number, seconds: number) => ({
  name: `${number}.wav`,
  mimeType: 'audio/wav',
  buffer: wavFile(scriptedPcm(seconds, number)),
});
const textOf = (number: number, seconds: number): string => scriptedText(scriptedPcm(seconds, number));

/** Has it recognized. @returns its text */
async function recognize(page: Page, number: number, seconds: number): Promise<string> {
  await page.locator('#file').setInputFiles(file(number, seconds));
  await page.locator('#latest .name', { hasText: `${number}.wav` }).waitFor();
  return textOf(number, seconds);
}

/** Where the last bar in full colour stands, as a part of the waveform's width. */
const waveEnds = (page: Page, selector: string): Promise<number> =>
  page.evaluate(`(() => {
    const canvas = document.querySelector('${selector} .wave');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let last = 0;
    for (let n = 3; n < data.length; n += 4)
      if (data[n] === 255) last = Math.max(last, ((n - 3) / 4) % canvas.width);
    return last / canvas.width;
  })()`);

/** Whether the audio of this address is still there. */
const fate = (page: Page, address: string | null): Promise<string> =>
  page.evaluate(`new Promise((loaded) => {
    const audio = new Audio('${address}');
    audio.onloadedmetadata = () => loaded('there');
    audio.onerror = () => loaded('gone');
  })`);

describe('the recordings of a tab', () => {
  it('stand there once each, the latest large, with durations in one form and waveforms on one scale', async () => {
    const { page, complaints } = await under.ready('en-GB');
    const texts = [await recognize(page, 1, 3.14), await recognize(page, 2, 6)];
    const shown = await page.locator('main').textContent();
    for (const text of texts) expect(shown?.split(text)).toHaveLength(2);
    expect(await page.locator('#latest .said').textContent()).toBe(texts[1]);
    expect(await page.locator('#recordings .said').allTextContents()).toEqual([texts[0]]);
    // To the millisecond for whoever asks.
    expect(await page.locator('[title^="audio_ms"]').allTextContents()).toEqual(['Audio6.0 s', 'Audio3.1 s']);
    expect(await page.locator('#recordings [title^="audio_ms"]').getAttribute('title')).toBe('audio_ms 3140');
    for (const words of await page.locator('.recordings dd').allTextContents())
      expect(words).toMatch(/^\d+\.\d s$/);
    // The limit, where it is not yet reached by anybody.
    expect((await page.locator('body').textContent())?.match(/15/g)).toHaveLength(1);
    expect(await waveEnds(page, '#latest')).toBeCloseTo(6 / 15, 2);
    expect(await waveEnds(page, '#recordings')).toBeCloseTo(3.14 / 15, 1);
    await shoot(page, 'recordings');
    // In the colours of the moment.
    const picture = () => page.evaluate(`document.querySelector('#latest .wave').toDataURL()`);
    const light = await picture();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(picture).not.toBe(light);
    expect(complaints).toEqual([]);
  });

  it('can be played, saved, copied and deleted one by one', async () => {
    const { page, complaints } = await under.ready('en-GB');
    // Or the browser refuses the clipboard to the page, which then copies as it does without HTTPS.
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const pasted = () => page.evaluate('navigator.clipboard.readText()');
    const texts = [await recognize(page, 1, 1), await recognize(page, 2, 4), await recognize(page, 3, 4)];
    // Each button says which recording is meant, also once it has other words.
    for (const n of [1, 2, 3]) {
      const named = (role: 'button' | 'link', what: string) =>
        page.getByRole(role, { name: `${what} ${n}. ${n}.wav`, exact: true });
      await named('button', 'Play').waitFor();
      await named('link', 'Save WAV').waitFor();
      await named('button', 'Copy').click();
      await named('button', 'Copied').waitFor();
      expect(await pasted()).toBe(texts[n - 1]);
    }
    await page.getByRole('button', { name: 'Copy 1. 1.wav', exact: true }).waitFor();
    // One plays at a time, and only that one says so.
    const players = page.locator('.recordings .play');
    const all = await waveEnds(page, '#latest');
    for (const n of [0, 1]) {
      await players.nth(n).click();
      await page.getByRole('button', { name: `Pause ${3 - n}. ${3 - n}.wav`, exact: true }).waitFor();
      expect(await page.locator('[data-playing]').count()).toBe(1);
      if (n === 0) await expect.poll(() => waveEnds(page, '#latest')).toBeLessThan(all);
      else expect(await waveEnds(page, '#latest')).toBe(all);
    }
    await players.nth(1).click();
    await page.locator('[data-playing]').waitFor({ state: 'detached' });
    // One that has been played to its end can be played again.
    await players.nth(2).click();
    await page.getByRole('button', { name: 'Pause 1. 1.wav', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Play 1. 1.wav', exact: true }).waitFor();

    const address = await page.locator('#latest [download]').getAttribute('href');
    await page.getByRole('button', { name: 'Delete 3. 3.wav', exact: true }).click();
    // Nobody is left without a place, and the one before is the latest.
    expect(await page.locator('#record:focus').count()).toBe(1);
    expect(await page.locator('#latest .said').textContent()).toBe(texts[1]);
    expect(await fate(page, address)).toBe('gone');
    await page.getByRole('button', { name: 'Delete 1. 1.wav', exact: true }).click();
    expect(await page.locator('.recordings .name').allTextContents()).toEqual(['2. 2.wav']);
    await page.getByRole('button', { name: 'Delete 2. 2.wav', exact: true }).click();
    await page.getByText('Press the button and speak Chinese').waitFor();
    expect(await page.locator('#history').isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('can be copied and saved as text all at once, in the order in which they were said', async () => {
    const { page, complaints } = await under.ready('en-GB');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.route(
      '**/v1/**',
      (route) => route.fulfill({ status: 500, json: { error: 'inference_failed' } }),
      { times: 1 },
    );
    await page.locator('#file').setInputFiles(file(1, 1));
    await notice(page, 'inference_failed').waitFor();
    expect(await page.locator('#latest .said').textContent()).toBe('Not recognized.');
    // Neither is there without a text.
    expect(await page.getByRole('button', { name: 'Copy all' }).isVisible()).toBe(false);
    await recognize(page, 2, 1);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('#latest .name', { hasText: '1.wav' }).waitFor();
    const text = `${textOf(1, 1)}\n${textOf(2, 1)}`;
    await page.getByRole('button', { name: 'Copy all' }).click();
    await page.locator('#all', { hasText: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text);
    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download text' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('recordings.txt');
    expect(readFileSync(await saved.path(), 'utf8')).toBe(`${text}\n`);
    expect(complaints).toEqual([]);
  });

  it('stay, in the words of the other language, when that is chosen', async () => {
    const { page, complaints } = await under.ready('zh-CN');
    const text = await recognize(page, 1, 1);
    await recognize(page, 2, 1);
    await page.locator('#file').setInputFiles({ ...file(3, 1), buffer: Buffer.from('no sound') });
    await notice(page, 'file_unreadable').waitFor();
    await page.getByRole('button', { name: 'English', exact: true }).click();
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
    expect(await page.title()).toBe('Chinese speech recognition');
    await notice(page, 'file_unreadable').getByText('This file cannot be read as audio.').waitFor();
    await page.getByRole('button', { name: 'Start recording' }).waitFor();
    await page.getByRole('button', { name: 'Delete 1. 1.wav', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Play 1. 1.wav', exact: true }).waitFor();
    expect(await page.locator('#model').textContent()).toBe('Model scripted (zipformer2-ctc)');
    const words = (await page.locator('header, main, footer, [role]').allTextContents()).join(' ');
    // But for what was said, and the way back.
    const said = [text, textOf(2, 1), '简体中文'].join(' ');
    expect(new Set(words.match(/\p{Script=Han}+/gu))).toEqual(new Set(said.match(/\p{Script=Han}+/gu)));
    await shoot(page, 'english');
    // It is kept for the next time.
    await page.reload();
    await page.getByRole('button', { name: 'Open file' }).waitFor();
    await page.getByRole('button', { name: '简体中文' }).click();
    await page.getByRole('button', { name: '选择文件' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('keeps the last 20, says of a proxy that it is away, and shows what nobody expects as it is', async () => {
    const { page } = await under.ready('en-GB');
    const answers = [
      { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' },
      { status: 500, json: { error: 'moon', message: 'full' } },
    ];
    await page.route('**/v1/audio/transcriptions', (route) =>
      route.fulfill(answers.shift() ?? { json: { text: '', audio_ms: 100, inference_ms: 1 } }),
    );
    const short = { name: 'some.wav', mimeType: 'audio/wav', buffer: wavFile(Buffer.alloc(3_200)) };
    const add = () => page.locator('#file').setInputFiles(short);
    const spoken = await listenTo(page, '#status');
    await page.route('**/readyz', (route) => route.abort());
    await add();
    await notice(page, 'connection_lost').waitFor();
    await notice(page, 'unexpected').getByText('moon: full').waitFor();
    const oldest = await page.locator('#latest [download]').getAttribute('href');
    for (let n = 2; n <= 22; n += 1) {
      await add();
      await page.locator(`#recording-${n}`).waitFor();
      await page.locator('body[data-state="idle"]').waitFor();
    }
    // Each result says so, long before the service is asked again.
    expect(await spoken()).toContain('Ready');
    const names = await page.locator('.recordings .name').allTextContents();
    expect(names).toEqual(Array.from({ length: 20 }, (_, n) => `${22 - n}. some.wav`));
    // Its memory is free, too.
    expect(await fate(page, oldest)).toBe('gone');
    // No words: nothing to copy, and it is said so.
    await page.locator('#latest .said', { hasText: 'No words were recognized' }).waitFor();
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0);
  });
});

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

it('the page is under 80,000 bytes in all, uncompressed, with the words of both languages', async () => {
  const bytes = await pageFiles(under.service.directOrigin);
  const names = ['main.js', 'capture-worklet.js', 'page.css', 'icon.svg'];
  expect([...bytes.keys()].sort()).toEqual(['/', ...names.map((name) => `/page/${name}`)].sort());
  expect([...bytes.values()].reduce((sum, size) => sum + size, 0)).toBeLessThan(80_000);
});
