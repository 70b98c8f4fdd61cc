import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { countErrors } from '../eval/error-rate.ts';
import { upload } from '../support/api.ts';
import { StreamClient } from '../support/stream-client.ts';
import { wavFile } from '../support/wav.ts';
import {
  figure,
  launchBrowser,
  listenTo,
  notice,
  openPage,
  openReady,
  resultText,
  savedRecording,
  secondsLeft,
  shoot,
} from './page-browser.ts';
import { type PageService, startPageService, TOKEN } from './page-service.ts';

const FIXTURES = join(packageRoot(), 'test', 'fixtures');
const SPOKEN = 'h09';
const SPOKEN_TEXT = readFileSync(join(FIXTURES, `${SPOKEN}.txt`), 'utf8').trim();
const SPOKEN_WAV = readFileSync(join(FIXTURES, `${SPOKEN}.wav`));
/** A browser on a busy machine loses the start of what it plays as the microphone. */
const BEFORE_SPEECH_SECONDS = 1;
/** That, 3.8 s of speech, and the silence that the model needs behind it, are over when this much of the 15 s is left. */
const SPOKEN_SECONDS_LEFT = 9;

const HEADER_BYTES = 44;
const folder = mkdtempSync(join(tmpdir(), 'asr-page-'));
let service: PageService;
let browser: Browser;

function silence(seconds: number): Buffer {
  return Buffer.alloc(seconds * 32_000);
}

beforeAll(async () => {
  const microphone = join(folder, 'microphone.wav');
  const speech = SPOKEN_WAV.subarray(HEADER_BYTES);
  writeFileSync(microphone, wavFile(Buffer.concat([silence(BEFORE_SPEECH_SECONDS), speech, silence(10)])));
  service = await startPageService();
  service.startInference();
  browser = await launchBrowser(microphone);
}, 30_000);

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  rmSync(folder, { recursive: true });
});

const readyPage = () => openReady(browser, service.origin);

/**
 * The result, which is the text of the WAV that was spoken. Chromium's fake microphone changes its level and drops samples on a busy machine, so two
 * characters may be others; that nothing is lost on the way from the microphone is told by the saved samples, to the character.
 */
async function heardText(page: Page): Promise<string> {
  const text = (await resultText(page)) ?? '';
  expect(countErrors(SPOKEN_TEXT, text).wrong, text).toBeLessThanOrEqual(2);
  return text;
}

describe('the page', { timeout: 60_000 }, () => {
  it('turns what is spoken into text as it is spoken, by the keyboard alone', async () => {
    const { page, complaints, addresses } = await openPage(browser, service.origin);
    await shoot(page, 'token');
    await page.locator('#token:focus').waitFor();
    // A screen reader reads it in the voice of its language, also what has no letters on the screen.
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
    await page.locator('meter[aria-label="麦克风音量"]').waitFor({ state: 'attached' });
    // And says by itself what these hold.
    for (const [role, ids] of [
      ['status', ['status', 'announcement']],
      ['alert', ['alert']],
    ] as const) {
      expect(await page.getByRole(role).evaluateAll((all) => all.map(({ id }) => id))).toEqual(ids);
    }
    expect(await page.getByRole('button', { name: '复制' }).count()).toBe(0);
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status', { hasText: '就绪' }).waitFor();
    expect(await page.locator('#record:focus').count()).toBe(1);
    await page.locator('#model', { hasText: /^模型 small-ctc \(nemo-ctc\)$/ }).waitFor();
    await shoot(page, 'idle');

    await page.keyboard.press('Space');
    await page.getByRole('button', { name: '结束录音' }).waitFor();
    const partial = page.locator('#transcript:has(.changing)', { hasText: /.{4}/ });
    await partial.waitFor();
    await shoot(page, 'recording');
    await secondsLeft(page, SPOKEN_SECONDS_LEFT);
    await page.keyboard.press('Space');

    const text = await heardText(page);
    expect(await figure(page, 'audio_ms')).toBeGreaterThan(4_900);
    expect(await figure(page, 'finalize_ms')).toBeGreaterThan(0);
    expect(await page.locator('.changing').count()).toBe(0);
    expect(await page.locator('#announcement').textContent()).toContain(text);
    await page.getByRole('button', { name: '复制' }).first().click();
    await page.getByRole('button', { name: '已复制' }).waitFor();
    await shoot(page, 'final');

    // The same samples, sent as a file by somebody else, are the same text: nothing was lost or doubled on the stream.
    const saved = await savedRecording(page);
    const answer = await upload(service.directOrigin, saved, { authorization: `Bearer ${TOKEN}` });
    expect(answer.body['text']).toBe(text);
    expect(answer.body['audio_ms']).toBe(await figure(page, 'audio_ms'));

    const player = page.locator('#recordings .play');
    await player.click();
    await page.locator('#recordings .play[data-playing]').waitFor();
    await player.click();
    await page.locator('#recordings .play:not([data-playing])').waitFor();

    expect(complaints).toEqual([]);
    expect(addresses.filter((address) => address.includes(TOKEN))).toEqual([]);
  });

  it('takes a token that was put into the field without an input event', async () => {
    const { page, complaints } = await openPage(browser, service.origin, 'en-GB');
    await page.evaluate(`document.querySelector('#token').value = '${TOKEN}'`);
    await page.getByRole('button', { name: 'Use token' }).click();
    await page.locator('#status[data-status="ready"]').waitFor({ timeout: 5_000 });
    expect(await page.locator('#token').inputValue()).toBe(TOKEN);
    await page.getByRole('button', { name: 'Change token' }).click();
    await page.locator('#token:focus').waitFor();
    expect(await page.getByRole('button', { name: 'Change token' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('asks again for a token that is wrong, and forgets it with the tab', async () => {
    const { page, complaints, addresses } = await openPage(browser, service.origin, 'en-GB');
    for (const wrong of ['错误的令牌', 'not-the-token-at-all']) {
      await page.locator('#token').fill(wrong);
      await page.getByRole('button', { name: 'Use token' }).click();
      await notice(page, 'unauthorized').waitFor();
      expect(await page.locator('#token:focus').count()).toBe(1);
      // At its field, which names it as its own; seen as a whole in a small window, or a large zoom.
      const field = page.getByRole('textbox', { name: 'Access token' });
      expect(await field.getAttribute('aria-invalid')).toBe('true');
      expect(await field.getAttribute('aria-describedby')).toBe('notice token-hint');
      expect(await notice(page, 'unauthorized').getAttribute('data-tone')).toBe('problem');
    }
    await shoot(page, 'wrong-token');
    // To compare it with what one was given.
    const field = page.locator('#token');
    for (const pressed of [true, false]) {
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await page.getByRole('button', { name: 'Show', exact: true, pressed }).waitFor();
      const shown = await page.evaluate(
        "getComputedStyle(document.querySelector('#token')).webkitTextSecurity",
      );
      expect(shown).toBe(pressed ? 'none' : 'disc');
    }
    for (const [width, height] of [
      [640, 400],
      [320, 256],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.evaluate('scrollTo(0, 0)');
      await page.getByRole('button', { name: 'Use token' }).click();
      await notice(page, 'unauthorized').waitFor();
      // Not `waitForFunction`: the page's policy forbids its looking again.
      const inSight = `(() => {
        const { top, bottom } = document.querySelector('#token-form #notice').getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight + 1;
      })()`;
      await expect.poll(() => page.evaluate(inSight)).toBe(true);
    }
    // Also where the check at the start has not seen it: the service itself refuses the recording.
    await page.locator('#record').click();
    // Long before 15 s: nobody has to speak on to nobody.
    await page.locator('#recordings li').waitFor({ timeout: 10_000 });
    await notice(page, 'unauthorized').waitFor();
    // Nor is it sent once more, as after other failures.
    expect(addresses.filter((address) => address.includes('/v1/'))).toEqual([]);
    // Copied with what stood around it.
    await field.fill(` ${TOKEN}  `);
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="ready"]').waitFor();
    expect(await page.locator('#token').getAttribute('aria-invalid')).toBe('false');
    expect(await page.locator('#token').getAttribute('aria-describedby')).toBe('token-hint');
    expect(await page.locator('#token-form #notice').count()).toBe(0);
    await page.getByRole('button', { name: 'Try again' }).click();
    await resultText(page);
    await page.reload();
    await page.locator('#status[data-status="ready"]').waitFor();
    // Who has entered nothing is led nowhere.
    expect(await page.locator('#record:focus').count()).toBe(0);
    // As WebKit does, without an event, when somebody comes back to the page from another one.
    await page.evaluate(`document.querySelector('#token').value = ''`);
    await page.locator('#file').setInputFiles(join(FIXTURES, `${SPOKEN}.wav`));
    await resultText(page);
    await page.getByRole('button', { name: 'Change token' }).click();
    expect(await field.inputValue()).toBe(TOKEN);
    const stored =
      'JSON.stringify([Object.values(sessionStorage), Object.values(localStorage), document.cookie])';
    expect(await page.evaluate(stored)).toBe(JSON.stringify([[TOKEN], [], '']));
    expect(complaints).toEqual([]);
  });

  it('waits while the service is busy, live and with a file, and loses nothing', async () => {
    const { page } = await readyPage();
    const other = await StreamClient.connect(`${service.directOrigin.replace('http', 'ws')}/ws/asr`);
    other.start({ api_token: TOKEN });
    await other.message('ready');
    // Held down: letting go is the end of the recording.
    await page.locator('#record').hover();
    await page.mouse.down();
    await notice(page, 'busy').waitFor();
    await shoot(page, 'busy-recording');
    await secondsLeft(page, SPOKEN_SECONDS_LEFT);
    // The service hangs up on a stream that is silent for 10 s.
    other.audio(silence(0.1));
    // Wherever the pointer is by then.
    await page.mouse.move(0, 0);
    await page.mouse.up();
    await notice(page, 'busy')
      .getByText(/秒后自动重试（第 2 次/)
      .waitFor();
    await shoot(page, 'busy-waiting');
    const closed = other.closed();
    other.terminate();
    await closed;
    await heardText(page);
    expect(await figure(page, 'inference_ms')).toBeGreaterThan(0);
  });

  it('says that the service is away also when it went while it was busy', async () => {
    const { page } = await readyPage();
    const other = await StreamClient.connect(`${service.directOrigin.replace('http', 'ws')}/ws/asr`);
    other.start({ api_token: TOKEN });
    await other.message('ready');
    await page.locator('#file').setInputFiles(join(FIXTURES, `${SPOKEN}.wav`));
    await notice(page, 'busy').waitFor();
    expect(await page.locator('#status').getAttribute('data-status')).toBe('ready');
    service.wire.cut();
    await notice(page, 'connection_lost').waitFor();
    // Long before the last of its retries, which are still under way.
    await page.locator('#status[data-status="unreachable"]').waitFor({ timeout: 5_000 });
    await notice(page, 'connection_lost')
      .getByText(/秒后自动重试/)
      .waitFor();
    const closed = other.closed();
    other.terminate();
    await closed;
    service.wire.mend();
    expect(await resultText(page)).toBe(SPOKEN_TEXT);
    expect(await page.locator('#notice').isVisible()).toBe(false);
    await page.locator('#status[data-status="ready"]').waitFor();
  });

  it('says what its address lacks when the stream is refused to it; the recording is recognized all the same', async () => {
    const { page } = await openReady(browser, service.origin.replace('127.0.0.1', 'localhost'), 'en-GB');
    await page.keyboard.press('Space');
    const refused = notice(page, 'stream_refused');
    await refused.getByText('ASR_ALLOWED_ORIGINS').waitFor();
    await refused.getByText('Keep speaking').waitFor();
    await shoot(page, 'stream-refused');
    await secondsLeft(page, SPOKEN_SECONDS_LEFT);
    await page.keyboard.press('Space');
    await heardText(page);
    await page.locator('#status[data-status="ready"]').waitFor();
    expect(await refused.isVisible()).toBe(false);
  });

  it('says that a model cannot be loaded, and looks again', async () => {
    const { page } = await openPage(browser, service.origin, 'en-GB');
    await page.route('**/readyz', (route) =>
      route.fulfill({ status: 503, json: { status: 'loading', busy: false, error: 'ModelLoadError' } }),
    );
    const spoken = await listenTo(page, '#status');
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status', { hasText: /^Model not available$/ }).waitFor();
    expect(await page.locator('#model').textContent()).toBe('');
    await shoot(page, 'unavailable');
    await page.waitForResponse('**/readyz');
    await page.unroute('**/readyz');
    await page.locator('#status[data-status="ready"]').waitFor();
    await page.locator('#model', { hasText: /^Model small-ctc \(nemo-ctc\)$/ }).waitFor();
    await shoot(page, 'ready-again');
    // Once each, however often it looked.
    expect(await spoken()).toEqual(['Checking', 'Model not available', 'Ready']);
  });

  it('makes sure of a service that is ready at last without the waits before that', async () => {
    const { page } = await openPage(browser, service.origin);
    await page.clock.install();
    await page.evaluate(`{
      const real = fetch;
      let failures = 3;
      window.askedAtMs = [];
      window.fetch = async (...request) => {
        if (failures-- > 0) return new Response('', { status: 502 });
        askedAtMs.push(Date.now());
        return real(...request);
      };
    }`);
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    const asked = async (): Promise<unknown> => {
      await page.clock.runFor(500);
      return page.evaluate('askedAtMs.length');
    };
    await expect.poll(asked, { timeout: 20_000 }).toBe(2);
    expect(await page.locator('#status').getAttribute('data-status')).toBe('ready');
    // The next of those waits would be 8 s.
    expect(await page.evaluate('askedAtMs[1] - askedAtMs[0]')).toBeLessThan(8_000);
  });

  it('says that the service refuses this address, and asks no more', async () => {
    const { page } = await openPage(browser, service.origin, 'en-GB');
    await page.clock.install();
    let asked = 0;
    await page.route('**/readyz', (route) => {
      asked += 1;
      return route.fulfill({ status: 403, json: { error: 'forbidden', message: 'not this address' } });
    });
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await notice(page, 'forbidden').waitFor();
    await page.clock.runFor(30_000);
    await page.evaluate('fetch("/healthz")');
    expect(asked).toBe(1);
    // But again when something else tells of the service's state.
    await page.unroute('**/readyz');
    await page.route('**/v1/**', (route) => route.abort());
    await page.locator('#file').setInputFiles(join(FIXTURES, `${SPOKEN}.wav`));
    await page.locator('#status[data-status="ready"]').waitFor({ timeout: 5_000 });
  });

  it('asks no longer with a token that was taken away', async () => {
    const { page } = await openPage(browser, service.origin, 'en-GB');
    await page.clock.install();
    let asked = 0;
    await page.route('**/readyz', (route) => {
      asked += 1;
      return route.abort();
    });
    // Nor does what was still asked with it say anything more.
    await page.route('**/readyz', () => {}, { times: 1 });
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="checking"]').waitFor();
    await page.locator('#token').fill('');
    await page.keyboard.press('Enter');
    await page.evaluate('fetch("/healthz")');
    expect(await page.locator('#status').getAttribute('data-status')).toBe('no_token');
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="unreachable"]').waitFor();
    await page.locator('#token').fill('');
    await page.keyboard.press('Enter');
    await page.locator('#status[data-status="no_token"]').waitFor();
    const askedBefore = asked;
    await page.clock.runFor(30_000);
    // What it would have asked for is on its way before this.
    await page.evaluate('fetch("/healthz")');
    expect(asked).toBe(askedBefore);
    expect(await page.locator('#status').getAttribute('data-status')).toBe('no_token');
    // But with the next one as soon as it is used, were it only typed.
    await page.locator('#token').fill(TOKEN);
    await page.route('**/v1/**', (route) => route.abort());
    await page.locator('#file').setInputFiles(join(FIXTURES, `${SPOKEN}.wav`));
    await page.locator('#status[data-status="unreachable"]').waitFor({ timeout: 5_000 });
  });

  it('keeps a recording through a lost connection', async () => {
    const { page } = await readyPage();
    await page.keyboard.press('Space');
    await page.locator('#transcript:has(.changing)').waitFor();
    service.wire.cut();
    await notice(page, 'connection_lost').waitFor();
    // Beside that nobody reads that the service is ready.
    await page.locator('#status[data-status="unreachable"]').waitFor();
    await shoot(page, 'lost-recording');
    await secondsLeft(page, SPOKEN_SECONDS_LEFT);
    await page.keyboard.press('Space');
    await notice(page, 'connection_lost')
      .getByText(/秒后自动重试/)
      .waitFor();
    await page.getByRole('button', { name: '停止等待' }).click();
    await notice(page, 'cancelled').waitFor();
    // Whoever reads on to the page's end must not hear there that it is tried again.
    expect(await page.locator('#announcement').textContent()).toBe('');
    await shoot(page, 'lost-given-up');
    service.wire.mend();
    await page.getByRole('button', { name: '重试' }).click();
    await heardText(page);
    expect(await page.locator('#recordings li').count()).toBe(1);
    // Nothing can be recorded while the service is away, and that is no riddle.
    service.wire.cut();
    await page.locator('#record').click();
    await notice(page, 'connection_lost').waitFor();
    await page.locator('#status[data-status="unreachable"]').waitFor();
    expect(await page.locator('#model').textContent()).toBe('');
    // It may come back with another model.
    await page.route('**/page/model.json', (route) => route.fulfill({ json: { id: 'other', family: null } }));
    service.wire.mend();
    await page.locator('#status[data-status="ready"]').waitFor();
    await page.locator('#model', { hasText: /^模型 other$/ }).waitFor();
  });
});
