import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { wavFile } from '../../support/audio/wav.ts';
import { scriptedPcm, scriptedText } from '../../support/service/scripted-recognizer.ts';
import { pageUnderTest } from './browser.ts';
import type { FileContent, Tab } from './tab.ts';

const under = pageUnderTest();

/** A recording of this length, as a file whose name has its number. */
const file = (number: number, seconds: number): FileContent => ({
  name: `${number}.wav`,
  mimeType: 'audio/wav',
  buffer: wavFile(scriptedPcm(seconds, number)),
});
const textOf = (number: number, seconds: number): string => scriptedText(scriptedPcm(seconds, number));

/** Has it recognized. @returns its text */
async function recognize(tab: Tab, number: number, seconds: number): Promise<string> {
  await tab.choose(file(number, seconds));
  await tab.page.locator('#latest .name', { hasText: `${number}.wav` }).waitFor();
  return textOf(number, seconds);
}

/** What belongs to the recording of this number, by what it says: "Play 1. 1.wav". */
const of = ({ page }: Tab, number: number, role: 'button' | 'link', what: string) =>
  page.getByRole(role, { name: `${what} ${number}. ${number}.wav`, exact: true });

/** Whether the latest recording's audio is still there when it is asked for. */
async function audioOfLatest({ page }: Tab): Promise<() => Promise<string>> {
  const address = await page.locator('#latest [download]').getAttribute('href');
  return () =>
    page.evaluate(`new Promise((loaded) => {
      const audio = new Audio('${address}');
      audio.onloadedmetadata = () => loaded('there');
      audio.onerror = () => loaded('gone');
    })`);
}

describe('the recordings of a tab', () => {
  it('stand there once each, the latest large, with durations in one form and waveforms on one scale', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    const texts = [await recognize(tab, 1, 3.14), await recognize(tab, 2, 6)];
    const shown = await page.locator('main').textContent();
    for (const text of texts) expect(shown?.split(text)).toHaveLength(2);
    expect(await page.locator('#latest .said').textContent()).toBe(texts[1]);
    expect(await page.locator('#recordings .said').allTextContents()).toEqual([texts[0]]);
    // To the millisecond for whoever asks.
    expect(await page.locator('[title^="audio_ms"]').allTextContents()).toEqual(['Audio6.0 s', 'Audio3.1 s']);
    expect(await page.locator('#recordings [title^="audio_ms"]').getAttribute('title')).toBe('audio_ms 3140');
    expect(await tab.waveEnds('#latest .wave')).toBeCloseTo(6 / 15, 2);
    expect(await tab.waveEnds('#recordings .wave')).toBeCloseTo(3.14 / 15, 1);
    // In the colours of the moment.
    const picture = () => page.evaluate(`document.querySelector('#latest .wave').toDataURL()`);
    const light = await picture();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(picture).not.toBe(light);
    expect(complaints).toEqual([]);
  });

  it('can be copied, played and deleted one by one', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    // Or the browser refuses the clipboard to the page, which then copies as it does without HTTPS.
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const texts = [await recognize(tab, 1, 1), await recognize(tab, 2, 4)];

    // Each button says which recording is meant, also once it has other words.
    for (const n of [1, 2]) {
      await of(tab, n, 'link', 'Save WAV').waitFor();
      await of(tab, n, 'button', 'Copy').click();
      await of(tab, n, 'button', 'Copied').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(texts[n - 1]);
    }
    await of(tab, 1, 'button', 'Copy').waitFor();

    // One plays at a time, and only that one says so.
    const all = await tab.waveEnds('#latest .wave');
    await of(tab, 2, 'button', 'Play').click();
    await of(tab, 2, 'button', 'Pause').waitFor();
    await expect.poll(() => tab.waveEnds('#latest .wave')).toBeLessThan(all);
    await of(tab, 1, 'button', 'Play').click();
    await of(tab, 1, 'button', 'Pause').waitFor();
    expect(await page.locator('[data-playing]').count()).toBe(1);
    expect(await tab.waveEnds('#latest .wave')).toBe(all);
    // One that has been played to its end can be played again.
    await of(tab, 1, 'button', 'Play').click();
    await of(tab, 1, 'button', 'Pause').waitFor();
    await page.locator('[data-playing]').waitFor({ state: 'detached' });

    // What is deleted can be taken back for 5 s, which is said; nobody is left without a place.
    const audio = await audioOfLatest(tab);
    await page.clock.install();
    await of(tab, 2, 'button', 'Delete').click();
    await page.locator('#latest .undo button:focus').waitFor();
    const said = await page.locator('#announcement').textContent();
    expect(said).toBe('Deleted: 2. 2.wav. You can undo this for 5 seconds.');
    await tab.button('Undo').click();
    await of(tab, 2, 'button', 'Play').waitFor();
    await page.clock.fastForward(5_000);
    expect(await page.locator('#latest .said').textContent()).toBe(texts[1]);
    expect(await audio()).toBe('there');
    // Then it is gone, and the one before is the latest.
    await of(tab, 2, 'button', 'Delete').click();
    await page.clock.fastForward(5_000);
    await page.locator('#record:focus').waitFor();
    expect(await page.locator('#latest .said').textContent()).toBe(texts[0]);
    expect(await audio()).toBe('gone');
    await of(tab, 1, 'button', 'Delete').click();
    expect(await tab.button('Copy all').isVisible()).toBe(false);
    await page.clock.fastForward(5_000);
    await page.getByText('Press the button and speak Chinese').waitFor();
    expect(await page.locator('#history').isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('can be copied and saved as text all at once, in the order in which they were said', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    // The first is recognized after the second.
    const failure = { status: 500, json: { error: 'inference_failed' } };
    await page.route('**/v1/**', (route) => route.fulfill(failure), { times: 1 });
    await tab.choose(file(1, 1));
    await tab.says('inference_failed');
    const reason = await page.locator('#latest .said').textContent();
    expect(reason).toContain('1.wav: Recognition failed.');
    expect(await tab.button('Copy all').isVisible()).toBe(false);
    await recognize(tab, 2, 1);
    await tab.button('Try again').click();
    await page.locator('#latest .name', { hasText: '1.wav' }).waitFor();

    const text = `${textOf(1, 1)}\n${textOf(2, 1)}`;
    await tab.button('Copy all').click();
    await page.locator('#all', { hasText: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text);
    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download text' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toMatch(/^texts-\d{4}-\d\d-\d\d-\d{6}\.txt$/);
    // Each under its number, name and time.
    const lines = readFileSync(await saved.path(), 'utf8').split('\n');
    const head = (name: string) =>
      expect.stringMatching(`^${name} \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d$`);
    const wanted = [head('1. 1.wav'), textOf(1, 1), '', head('2. 2.wav'), textOf(2, 1), ''];
    expect(lines).toEqual(wanted);
    expect(complaints).toEqual([]);
  });

  it('stay, in the words of the other language, when that is chosen', async () => {
    const { tab, page, complaints } = await under.ready('zh-CN');
    const said = [await recognize(tab, 1, 1), await recognize(tab, 2, 1)];
    await tab.choose({ ...file(3, 1), buffer: Buffer.from('no sound') });
    await tab.says('file_unreadable');
    await tab.button('English').click();
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
    expect(await page.title()).toBe('Chinese speech recognition');
    await tab.notice('file_unreadable').getByText('3.wav is not audio that this browser can read.').waitFor();
    await of(tab, 1, 'button', 'Play').waitFor();
    const words = (await page.locator('header, main, footer, [role]').allTextContents()).join(' ');
    // But for what was said, and the way back.
    const chinese = [...said, '简体中文'].join(' ');
    expect(new Set(words.match(/\p{Script=Han}+/gu))).toEqual(new Set(chinese.match(/\p{Script=Han}+/gu)));
    // It is kept for the next time.
    await page.reload();
    await tab.button('Open file').waitFor();
    await tab.button('简体中文').click();
    await tab.button('选择文件').waitFor();
    expect(complaints).toEqual([]);
  });

  it('are asked about before they are lost with the page', async () => {
    const { tab, page } = await under.ready('en-GB');
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    await page.locator('h1').click();
    await page.reload();
    expect(asked).toEqual([]);
    await tab.status('ready');
    const text = await recognize(tab, 1, 1);
    // A browser asks nobody who has not touched the page.
    await page.locator('h1').click();
    const asking = page.waitForEvent('dialog');
    await page.evaluate('location.reload()');
    await asking;
    expect(asked).toEqual(['beforeunload']);
    expect(await page.locator('#latest .said').textContent()).toBe(text);
    await page.removeAllListeners('dialog');
  });

  it('are the last 20, and free the memory of those before them', async () => {
    const { tab, page } = await under.ready('en-GB');
    const nothing = { json: { text: '', audio_ms: 100, inference_ms: 1 } };
    await page.route('**/v1/audio/transcriptions', (route) => route.fulfill(nothing));
    await recognize(tab, 1, 0.1);
    const oldest = await audioOfLatest(tab);
    // And of 21 files that are chosen at once the first 20 are taken, which is said.
    await tab.choose(...Array.from({ length: 21 }, (_, n) => file(n + 2, 0.1)));
    await page.locator('#notice', { hasText: 'At most 20 files are taken at once' }).waitFor();
    const names = await page.locator('.recordings .name').allTextContents();
    expect(names).toEqual(Array.from({ length: 20 }, (_, n) => `${21 - n}. ${21 - n}.wav`));
    expect(await oldest()).toBe('gone');
    // No words: nothing to copy, and it is said so.
    await page.locator('#latest .said', { hasText: 'No words were recognized in this file.' }).waitFor();
    expect(await tab.button('Copy').count()).toBe(0);
  });

  it('are tried again behind a proxy that has lost the service, and what nobody expects is shown as it is', async () => {
    const { tab, page } = await under.ready('en-GB');
    const answers = [
      { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' },
      { status: 500, json: { error: 'moon', message: 'full' } },
    ];
    await page.route('**/v1/**', (route) => {
      const answer = answers.shift();
      return answer ? route.fulfill(answer) : route.continue();
    });
    await page.route('**/readyz', (route) => route.abort());
    const spoken = await tab.listenTo('#status');
    await tab.choose(file(1, 0.5));
    await tab.says('connection_lost');
    await tab.notice('unexpected').getByText('moon: full').waitFor();
    // A result says that the service is ready, long before it is asked again.
    await recognize(tab, 2, 0.5);
    await expect.poll(spoken).toContain('Ready');
  });
});
