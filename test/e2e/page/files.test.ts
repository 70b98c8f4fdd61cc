import { readFileSync } from 'node:fs';
import type { Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { wavFile } from '../../support/audio/wav.ts';
import { scriptedPcm, scriptedText } from '../../support/service/scripted-recognizer.ts';
import { pageUnderTest, WAV } from './browser.ts';
import { type FileContent, HEADER_BYTES } from './tab.ts';

const SPEECH = readFileSync(WAV);
const SPOKEN = SPEECH.subarray(HEADER_BYTES);
const under = pageUnderTest();

const file = (buffer: Buffer, name = 'some.wav'): FileContent => ({ name, mimeType: 'audio/wav', buffer });
const silence = (seconds: number): Buffer => wavFile(Buffer.alloc(Math.round(seconds * 16_000) * 2));
/** The speech in both channels, in the second one so many times as loud. */
function stereo(gain: number, sampleRateHz: number): Buffer {
  const pcm = Buffer.alloc(2 * SPOKEN.length);
  for (let byte = 0; byte < SPOKEN.length; byte += 2) {
    pcm.writeInt16LE(SPOKEN.readInt16LE(byte), 2 * byte);
    pcm.writeInt16LE(gain * SPOKEN.readInt16LE(byte), 2 * byte + 2);
  }
  return wavFile(pcm, { channels: 2, sampleRateHz });
}
/** Frames of 36 ms, in 36 bytes each: 8 kbit/s, 16 kHz, mono. */
function silentMp3(seconds: number): FileContent {
  const frame = Buffer.alloc(36);
  frame.writeUInt32BE(0xff_f3_18_c4);
  return file(Buffer.alloc(36 * Math.ceil(seconds / 0.036), frame), 'memo.mp3');
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
    // Under its number, name and time.
    expect(savedAs).toMatch(/^2-telephone-x{200}\.2-\d{4}-\d\d-\d\d-\d{6}\.wav$/);
    // As a CD has it, and a recorder whose two inputs cancel each other.
    expect(await chosen('cd44.wav', file(stereo(1, 44_100), 'cd44.wav'))).toHaveLength(
      2 * Math.ceil((SPOKEN.length / 2) * (16_000 / 44_100)),
    );
    expect((await chosen('anti.wav', file(stereo(-1, 16_000), 'anti.wav'))).equals(SPOKEN)).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('that cannot be used are named with what is wrong, where their text would be', async () => {
    const { tab, page } = await under.ready();
    await tab.choose(WAV);
    await tab.resultText();
    const said = page.locator('#latest .said');
    for (const [kind, wrong, words] of [
      ['file_empty', file(Buffer.alloc(0)), 'some.wav 里没有声音。请选择另一个文件。'],
      [
        'file_unreadable',
        file(Buffer.from('#!AMR\nno sound at all'), 'memo.amr'),
        'memo.amr 是 AMR 录音，浏览器无法读取。请先转换格式：ffmpeg -i IN -ar 16000 -ac 1 -c:a pcm_s16le OUT.wav',
      ],
      [
        'file_unreadable',
        file(Buffer.from('\x02#!SILK_V3'), 'chat.silk'),
        'chat.silk 是 SILK 语音（微信、QQ 的语音消息），浏览器无法读取。请先用 silk-v3-decoder 解码，再选择解码后的文件。',
      ],
      ['file_damaged', file(SPEECH.subarray(0, 30)), 'some.wav 已损坏，无法读取。请重新保存或导出录音。'],
      // A browser decodes what is there of a WAV: a part of its words would pass for all.
      [
        'file_cut_off',
        file(SPEECH.subarray(0, 60_000)),
        '不完整，缺少录音的结尾。请重新复制或下载这个文件。',
      ],
    ] as const) {
      await tab.choose(wrong);
      await tab.says(kind);
      await tab.until('idle');
      expect(await said.textContent()).toContain(words);
      expect(await page.locator('#alert').textContent()).toContain(words);
      // It can only be taken away, and nothing else tells of it.
      expect(await page.locator('#latest button, #latest a').allTextContents()).toEqual(['删除']);
      expect(await page.locator('#notice').isVisible()).toBe(false);
    }
    expect(await page.locator('#recordings .said').last().textContent()).toBe(scriptedText(SPOKEN));
    // One that has no words takes those away, and has no microphone to be nearer to.
    await tab.choose(file(silence(15)));
    expect(await tab.resultText()).toBe('这个文件里没有识别到文字。');
    expect(await tab.figure('audio_ms')).toBe(15_000);
    expect(await page.locator('#alert').textContent()).toBe('');
  });

  it('are recognized one after the other, and leave the others their turn', async () => {
    const { tab, page } = await under.ready();
    const asked: Route[] = [];
    await page.route('**/v1/**', (route) => void asked.push(route));
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    const second = SPOKEN.subarray(0, 32_000);
    await tab.choose(WAV, file(Buffer.from('#!AMR\n'), 'memo.amr'), file(wavFile(second), 'b.wav'));
    // The file that is recognized is named and shown.
    await expect.poll(() => asked.length).toBe(1);
    await page.getByText('第 1 个，共 3 个：h02.wav', { exact: true }).waitFor();
    await expect.poll(() => tab.waveEnds('#wave')).toBeCloseTo(4.2 / 15, 1);
    await tab.status('recognizing');
    // It takes 6 s, after which others have 1.5 s.
    await page.clock.runFor(6_000);
    await asked[0]?.continue();
    await page.getByText('第 3 个，共 3 个：b.wav', { exact: true }).waitFor();
    await page.clock.runFor(1_400);
    await page.evaluate('fetch("/healthz")');
    expect(asked).toHaveLength(1);
    await page.clock.runFor(200);
    await expect.poll(() => asked.length).toBe(2);
    await asked[1]?.continue();
    await tab.until('idle');
    const names = await page.locator('.recordings .name').allTextContents();
    expect(names).toEqual(['3. b.wav', '2. memo.amr', '1. h02.wav']);
    const texts = [scriptedText(second), expect.stringContaining('AMR'), scriptedText(SPOKEN)];
    expect(await page.locator('.recordings .said').allTextContents()).toEqual(texts);
  });

  it('that are left when somebody stops a batch can be tried again', async () => {
    const { tab, page } = await under.ready();
    const asked: Route[] = [];
    await page.route('**/v1/**', (route) => void asked.push(route));
    await tab.choose(WAV, file(silence(1), 'b.wav'));
    await expect.poll(() => asked.length).toBe(1);
    await page.getByRole('button', { name: '停止', exact: true }).click();
    await tab.until('idle');
    expect(await page.locator('.recordings [data-kind="cancelled"]').count()).toBe(2);
    expect(await page.getByRole('button', { name: '重试' }).count()).toBe(2);
    expect(asked).toHaveLength(1);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await tab.button('重试 1. h02.wav').click();
    expect(await tab.resultText()).toBe(scriptedText(SPOKEN));
  });

  it('that are far too long are not decoded', async () => {
    const { tab, page } = await under.ready('en-GB');
    await page.evaluate(`OfflineAudioContext.prototype.decodeAudioData = () => Promise.reject('decoded')`);
    // An hour of MP3 would take seconds and gigabytes.
    await tab.choose(silentMp3(3_600));
    const tooLong = tab.notice('file_too_long_to_decode');
    await tooLong
      .getByText(/memo.mp3 is 6[01] minutes long; the limit for all but WAV is 20 minutes/)
      .waitFor();
    await tooLong.getByText('Use asr-client transcribe, which takes 6 hours').waitFor();
    // Over 100 MB it is not even looked at, and nor is a WAV over an hour. So large files are made in the browser.
    const large = (name: string, bytes: number, start: Uint8Array = Buffer.alloc(0)) =>
      page.evaluate(`{
        const files = new DataTransfer();
        const start = new Uint8Array(${JSON.stringify([...start])});
        files.items.add(new File([start, new Uint8Array(${bytes})], '${name}'));
        const input = document.querySelector('#file');
        input.files = files.files;
        input.dispatchEvent(new Event('change'));
      }`);
    await large('film.mp4', 100_000_001);
    await tab
      .notice('file_too_large')
      .getByText('film.mp4 has 101 MB; the limit for all but WAV is 100 MB.')
      .waitFor();
    const header = wavFile(Buffer.alloc(0), { sampleRateHz: 8_000 });
    header.writeUInt32LE(0xffff_ffff, 40);
    await large('day.wav', 8_000 * 2 * 3_601, header);
    await tab
      .notice('file_too_long')
      .getByText('day.wav is 61 minutes long; the limit is 60 minutes.')
      .waitFor();
  });

  it('of any length go piece by piece, as far as they come, and on from there; with subtitles', async () => {
    const { tab, page, complaints } = await under.ready('en-GB');
    const asked: Route[] = [];
    let holds = true;
    await page.route('**/v1/**', (route) => (holds ? void asked.push(route) : route.continue()));
    const pcm = scriptedPcm(40);
    await tab.choose(file(wavFile(pcm), 'lecture.wav'));
    await page.locator('#progress', { hasText: /^lecture\.wav · 0:00 of 0:40 recognized$/ }).waitFor();
    await expect.poll(() => asked.length).toBe(1);
    await asked[0]?.continue();
    // Its words, its bars, and how far it has come.
    await page.locator('#transcript', { hasText: '。' }).waitFor();
    const first = await page.locator('#transcript').textContent();
    await page
      .locator('#progress', { hasText: /^lecture\.wav · 0:(09|1[0-4]) of 0:40 recognized$/ })
      .waitFor();
    const played = await tab.waveEnds('#wave');
    expect(played).toBeGreaterThan(9 / 40);
    expect(played).toBeLessThan(15 / 40);
    await tab.button('Stop').waitFor();
    await expect.poll(() => asked.length).toBe(2);
    await asked[1]?.fulfill({ status: 500, json: { error: 'inference_failed', message: '' } });
    await tab.says('inference_failed');
    // What has its text keeps it, and what is sent again is the rest.
    const said = page.locator('#latest .said[lang]');
    expect(await said.textContent()).toBe(first);
    await tab.button('Try again').click();
    await page
      .locator('#progress', { hasText: /^lecture\.wav · 0:(09|1[0-4]) of 0:40 recognized$/ })
      .waitFor();
    await expect.poll(() => asked.length).toBe(3);
    holds = false;
    await asked[2]?.continue();
    await expect.poll(() => said.textContent()).not.toBe(first);
    const whole = (await said.textContent()) ?? '';
    expect(whole.startsWith(first ?? '?')).toBe(true);
    expect(await tab.figure('audio_ms')).toBe(40_000);
    expect(await tab.notice('inference_failed').count()).toBe(0);
    expect((await tab.savedSamples()).equals(pcm)).toBe(true);
    // A cue for each piece or more, from its beginning to its end.
    const cues = (await tab.saved('.srt')).toString().trim().split('\n\n');
    expect(cues[0]).toMatch(/^1\n00:00:00,000 --> 00:00:\d\d,\d{3}\n/);
    expect(cues.at(-1)).toMatch(/--> 00:00:40,000\n/);
    const lines = cues.flatMap((cue) => cue.split('\n').slice(2));
    expect(lines.join('')).toBe(whole);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(21);
    expect(complaints).toEqual([]);
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
    await page.clock.fastForward(60_000);
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
    const target = page.getByText('把录音文件拖放到这里');
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
    await tab.recorded(1);
    await tab.press();
    await tab.resultText();
    expect(await page.locator('.recordings .name').allTextContents()).toEqual(['1. 麦克风']);
  });
});
