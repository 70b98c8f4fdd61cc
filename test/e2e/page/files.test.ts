import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { scriptedText } from '../../support/scripted-recognizer.ts';
import { wavFile } from '../../support/wav.ts';
import { pageUnderTest, WAV } from './browser.ts';
import { type FileContent, HEADER_BYTES, type Tab } from './tab.ts';

const SPEECH = readFileSync(WAV);
const SPOKEN = SPEECH.subarray(HEADER_BYTES);
const under = pageUnderTest();

const file = (buffer: Buffer, name = 'some.wav'): FileContent => ({ name, mimeType: 'audio/wav', buffer });
const silence = (seconds: number): Buffer => wavFile(Buffer.alloc(Math.round(seconds * 16_000) * 2));
/** Frames of 36 ms, in 36 bytes each: 8 kbit/s, 16 kHz, mono. */
function silentMp3(seconds: number): FileContent {
  const frame = Buffer.alloc(36);
  frame.writeUInt32BE(0xff_f3_18_c4);
  return file(Buffer.alloc(36 * Math.ceil(seconds / 0.036), frame), 'memo.mp3');
}

/** Chooses a file, and waits for what the page says is wrong with it. An empty one in between takes the words before it away. */
async function refused(tab: Tab, kind: string, wrong: FileContent): Promise<void> {
  await tab.choose(file(Buffer.alloc(0)));
  await tab.says('file_empty');
  await tab.choose(wrong);
  await tab.says(kind);
}

describe('files on the page', () => {
  it('are taken by the button, of any rate and form', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    /** @returns the samples that were recognized */
    const chosen = async (name: string, what: string | FileContent): Promise<Buffer> => {
      const choosing = page.waitForEvent('filechooser');
      await tab.button('Open file').click();
      await (await choosing).setFiles(what);
      await page.locator('#latest .name', { hasText: name }).waitFor();
      const samples = await tab.savedSamples();
      expect(await tab.resultText()).toBe(scriptedText(samples));
      expect(await tab.figure('inference_ms')).toBeGreaterThan(0);
      return samples;
    };
    // The samples of one that was right already are the same to the bit.
    expect((await chosen('h02.wav', WAV)).equals(SPOKEN)).toBe(true);
    const long = `telephone-${'x'.repeat(200)}.2.m4a`;
    const telephone = wavFile(SPOKEN.subarray(0, SPOKEN.length / 2), { sampleRateHz: 8_000 });
    expect(await chosen(long, file(telephone, long))).toHaveLength(SPOKEN.length);
    // All of a long name is there to read, and what is saved is a WAV, whatever the file was.
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    // The same file, chosen once more, is a change again.
    expect(await page.locator('#file').inputValue()).toBe('');
    const savedAs = await page.locator('#latest [download]').getAttribute('download');
    expect(savedAs).toBe(long.replace(/m4a$/, 'wav'));
    expect(complaints).toEqual([]);
  });

  it('that cannot be used are named with what is wrong, and take nothing away', async () => {
    const { tab, page } = await under.ready('en-GB');
    await tab.choose(WAV);
    await tab.resultText();
    // What this browser cannot decode is named, with the way out.
    await refused(tab, 'file_unreadable', file(Buffer.from('#!AMR\nno sound at all')));
    const advice = 'The file is AMR, not WAV. Convert it: ffmpeg -i';
    await tab.notice('file_unreadable').getByText(advice).waitFor();
    // A browser decodes what is there of a WAV: a part of its words would pass for all.
    await refused(tab, 'file_cut_off', file(SPEECH.subarray(0, 60_000)));
    await refused(tab, 'file_too_long', file(silence(15.01)));
    expect(await tab.notice('file_too_long').getAttribute('title')).toContain('15.010 s long');
    expect(await page.locator('#alert').textContent()).toContain('too long');
    expect(await tab.resultText()).toBe(scriptedText(SPOKEN));
    // One that is just not too long takes the words away.
    await tab.choose(file(silence(15)));
    await page.locator('#recordings li').waitFor();
    expect(await tab.figure('audio_ms')).toBe(15_000);
    expect(await page.locator('#alert').textContent()).toBe('');
  });

  it('that are far too long are not decoded', async () => {
    const { tab, page } = await under.ready('en-GB');
    await page.evaluate(`OfflineAudioContext.prototype.decodeAudioData = () => Promise.reject('decoded')`);
    // An hour of MP3 would take seconds and gigabytes.
    await refused(tab, 'file_too_long', silentMp3(3_600));
    // Over 32 MB it is not even looked at. So large a file is made in the browser.
    await tab.choose(file(Buffer.alloc(0)));
    await tab.says('file_empty');
    await page.evaluate(`{
      const files = new DataTransfer();
      files.items.add(new File([new Uint8Array(32_000_001)], 'film.mp4'));
      const input = document.querySelector('#file');
      input.files = files.files;
      input.dispatchEvent(new Event('change'));
    }`);
    await tab.says('file_too_long');
  });

  it('that the browser never decodes, as WebKit on Linux does, are given up', async () => {
    const { tab, page } = await under.ready('en-GB');
    await tab.choose(WAV);
    await tab.resultText();
    await page.clock.install();
    await page.evaluate(`OfflineAudioContext.prototype.decodeAudioData = () => {
      document.body.dataset.decoding = '';
      return new Promise(() => {});
    }`);
    // The last result's sound does not go on beside the next one.
    await page.locator('#latest .play').click();
    await page.locator('.recordings [data-playing]').waitFor();
    await tab.choose(silentMp3(1));
    await page.locator('body[data-decoding]').waitFor();
    await page.locator('.recordings [data-playing]').waitFor({ state: 'detached', timeout: 5_000 });
    await page.clock.fastForward(20_000);
    await tab.says('file_unreadable');
    await tab.until('idle');
    // A browser's own recorder leaves the length open, and such a file is not too long.
    await page.evaluate(`{
      Object.defineProperty(HTMLMediaElement.prototype, 'duration', { get: () => Infinity });
      delete document.body.dataset.decoding;
    }`);
    await tab.choose(silentMp3(1));
    await page.locator('body[data-decoding]').waitFor({ timeout: 5_000 });
  });

  it('are taken when they are dropped on it', async () => {
    const { tab, page } = await under.ready();
    const target = page.getByText('把录音拖放到这里');
    const drag = (type: string, what = 'file', relatedTarget = 'null'): Promise<unknown> =>
      page.evaluate(`{
        const files = new DataTransfer();
        const bytes = Uint8Array.from(atob('${SPEECH.toString('base64')}'), (character) => character.charCodeAt(0));
        if ('${what}' === 'file') files.items.add(new File([bytes], '昨天.wav', { type: 'audio/wav' }));
        else files.setData('text/plain', '昨天');
        const options = { bubbles: true, cancelable: true, dataTransfer: files, relatedTarget: ${relatedTarget} };
        document.querySelector('#stage').dispatchEvent(new DragEvent('${type}', options));
      }`);
    // What is no file is for the token's field.
    for (const type of ['dragover', 'drop']) expect(await drag(type, 'text')).toBe(true);
    expect(await target.isVisible()).toBe(false);
    // The page shows where to drop it until the pointer leaves it, not one of its elements.
    await drag('dragover');
    await target.waitFor();
    await drag('dragleave', 'file', 'document.body');
    expect(await target.isVisible()).toBe(true);
    await drag('dragleave');
    await target.waitFor({ state: 'hidden' });
    await drag('dragover');
    await target.waitFor();
    // Or the browser would open it in place of the page.
    for (const type of ['dragover', 'drop']) expect(await drag(type)).toBe(false);
    expect(await tab.resultText()).toBe(scriptedText(SPOKEN));
    expect(await target.isVisible()).toBe(false);
  });

  it('are not taken in the middle of a recording, which goes on', async () => {
    const { tab, page } = await under.ready();
    await tab.press();
    await tab.until('recording');
    expect(await page.locator('#choose').isDisabled()).toBe(true);
    await page.evaluate(`{
      const files = new DataTransfer();
      files.items.add(new File(['RIFF'], 'a.wav'));
      const options = { bubbles: true, cancelable: true, dataTransfer: files };
      document.querySelector('#stage').dispatchEvent(new DragEvent('drop', options));
    }`);
    await page.locator('#notice[data-tone="wait"]', { hasText: '一次只能处理一段录音' }).waitFor();
    expect(await page.locator('#announcement').textContent()).toContain('一次只能处理一段录音');
    expect(await tab.state()).toBe('recording');
    await tab.secondsLeft(14);
    await tab.press();
    await tab.resultText();
    expect(await page.locator('.recordings .name').allTextContents()).toEqual(['1. 麦克风']);
  });
});
