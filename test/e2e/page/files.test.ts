import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { scriptedText } from '../../support/scripted-recognizer.ts';
import { chunk, wavFile } from '../../support/wav.ts';
import {
  figure,
  HEADER_BYTES,
  notice,
  pageUnderTest,
  resultText,
  savedRecording,
  secondsLeft,
  shoot,
  WAV,
} from './browser.ts';

const SPEECH = readFileSync(WAV);
const under = pageUnderTest();

const silence = (seconds: number): Buffer => Buffer.alloc(Math.round(seconds * 16_000) * 2);

const peak = (pcm: Buffer): number =>
  new Int16Array(Uint8Array.from(pcm).buffer).reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);

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

describe('files on the page', () => {
  it('takes a file by the button, of any rate and form', async () => {
    const { page, complaints } = await under.ready('en-GB');
    const long = `studio-${'x'.repeat(200)}.2.m4a`;
    const studio = { name: long, mimeType: 'audio/wav', buffer: asStudioWav(SPEECH) };
    for (const file of [WAV, studio]) {
      const choosing = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Open file' }).click();
      await (await choosing).setFiles(file);
      await page.locator('#latest .name', { hasText: typeof file === 'string' ? 'h02.wav' : long }).waitFor();
      const samples = (await savedRecording(page)).subarray(HEADER_BYTES);
      expect(await resultText(page)).toBe(scriptedText(samples));
      expect(await figure(page, 'inference_ms')).toBeGreaterThan(0);
      // The samples of one that was right already are the same to the bit; of both channels the mean, as loud as each.
      const right = SPEECH.subarray(HEADER_BYTES);
      if (file === WAV) expect(samples.equals(right)).toBe(true);
      else expect(peak(samples) / peak(right)).toBeCloseTo(1, 1);
    }
    // All of a long name is there to read, and what is saved is a WAV, whatever the file was.
    const name = page.locator('#latest .name');
    expect(await name.evaluate((e) => e.scrollWidth - e.clientWidth)).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await page.locator('#latest [download]').getAttribute('download')).toBe(
      long.replace(/m4a$/, 'wav'),
    );
    await shoot(page, 'files');
    expect(complaints).toEqual([]);
  });

  it('says what is wrong with a file', async () => {
    const { page } = await under.ready('en-GB');
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
    const pcm = SPEECH.subarray(HEADER_BYTES);
    const tagged = wavFile(pcm, { before: [chunk('LIST', Buffer.from('odd'))] });
    for (const part of [tagged.subarray(0, 60_000), SPEECH.subarray(0, HEADER_BYTES)]) {
      await input.setInputFiles(file(part));
      await notice(page, 'file_cut_off').waitFor();
      await input.setInputFiles(file(Buffer.alloc(0)));
      await notice(page, 'file_empty').waitFor();
    }
    // Whole, whatever the header says besides.
    for (const header of [{ dataBytes: SPEECH.length }, { dataBytes: 0 }, { blockBytes: 4 }]) {
      await input.setInputFiles(file(wavFile(pcm, header)));
      await page.locator('#latest .said', { hasText: scriptedText(pcm) }).waitFor();
      await input.setInputFiles(file(Buffer.alloc(0)));
      await notice(page, 'file_empty').waitFor();
    }
    // Whatever became of those in between, what was recognized stays, the latest large.
    expect(await page.locator('#recordings .said').allTextContents()).toEqual(
      Array(2).fill(scriptedText(pcm)),
    );
    expect(await resultText(page)).toBe(scriptedText(pcm));
    await shoot(page, 'file-failed');
    await input.setInputFiles(file(wavFile(silence(15.01))));
    await notice(page, 'file_too_long').waitFor();
    expect(await notice(page, 'file_too_long').getAttribute('title')).toContain('15.010 s long');
    await shoot(page, 'file-too-long');
    expect(await page.locator('#alert').textContent()).toContain('too long');
    await input.setInputFiles(file(wavFile(silence(15))));
    await page.locator('#recordings li').nth(2).waitFor();
    expect(await figure(page, 'audio_ms')).toBe(15_000);
    // The same file, chosen once more, is a change again.
    expect(await input.inputValue()).toBe('');
    expect(await page.locator('#alert').textContent()).toBe('');
    // The last result's sound does not go on beside the next one, nor is it read there.
    await page.locator('#latest .play').click();
    await page.locator('.recordings [data-playing]').waitFor();
    // WebKit on Linux never says so of some files.
    await page.clock.install();
    await page.evaluate(`OfflineAudioContext.prototype.decodeAudioData = () => {
      document.body.dataset.decoding = '';
      return new Promise(() => {});
    }`);
    await input.setInputFiles({ name: 'memo.mp3', mimeType: 'audio/mpeg', buffer: silentMp3(1) });
    await page.locator('body[data-decoding]').waitFor();
    await page.locator('.recordings [data-playing]').waitFor({ state: 'detached', timeout: 5_000 });
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

  it('takes a file that is dropped on it', async () => {
    const { page } = await under.ready();
    const base64 = readFileSync(WAV).toString('base64');
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
    expect(await resultText(page)).toBe(scriptedText(SPEECH.subarray(HEADER_BYTES)));
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
    expect(await page.locator('.recordings .name').allTextContents()).toEqual(['2. 麦克风', '1. 昨天.wav']);
    expect(await page.locator('#notice').isVisible()).toBe(false);
  });
});
