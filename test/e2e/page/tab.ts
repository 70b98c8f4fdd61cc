import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { PauseCutter } from '../../../client/audio/pause-cutter.ts';
import { TOKEN } from '../../support/service/api.ts';
import { scriptedText } from '../../support/service/scripted-recognizer.ts';

/** The text of a recording of any length, cut as it is spoken or as a whole. */
export function textOfPieces(samples: Buffer, live: boolean): string {
  const cutter = new PauseCutter({ live });
  const pcm = new Int16Array(Uint8Array.from(samples).buffer);
  const pieces = [...cutter.push(pcm), ...cutter.flush()];
  return pieces.map((piece) => scriptedText(Buffer.from(piece.samples.buffer))).join('');
}

/** A file as a person would choose it, without one on the disk. */
export interface FileContent {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

export const HEADER_BYTES = 44;

/** The page in a tab, as a person uses and sees it. */
export class Tab {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async enterToken(token = TOKEN): Promise<void> {
    await this.page.locator('#token').fill(token);
    await this.page.keyboard.press('Enter');
  }

  /** Enters the token and waits until the service is ready, or in another state. */
  async signIn(status = 'ready'): Promise<void> {
    await this.enterToken();
    await this.status(status);
  }

  /** Presses the record button. */
  press(): Promise<void> {
    return this.page.locator('#record').click();
  }

  async choose(...files: readonly (string | FileContent)[]): Promise<void> {
    const contents = files.map((file) =>
      typeof file === 'string'
        ? { name: basename(file), mimeType: 'audio/wav', buffer: readFileSync(file) }
        : file,
    );
    await this.page.locator('#file').setInputFiles(contents);
  }

  /** Waits until the page is in this state: `idle`, `opening`, `recording`, `recognizing` or `waiting`. */
  until(state: string): Promise<void> {
    return this.page.locator(`body[data-state="${state}"]`).waitFor();
  }

  state(): Promise<string | null> {
    return this.page.locator('body').getAttribute('data-state');
  }

  /** Waits until partial text is on the screen. */
  live(): Promise<void> {
    return this.page.locator('#transcript:has(.changing)').waitFor();
  }

  /** Waits until at least so many seconds are recorded, of 60 minutes: nothing of what is to be seen happens before. */
  recorded(seconds: number): Promise<void> {
    const left = Array.from({ length: 61 - seconds }, (_, second) => String(second).padStart(2, '0'));
    return this.page.locator('#time', { hasText: new RegExp(`^59:(${left.join('|')})$`) }).waitFor();
  }

  /** Waits until this is the service's state beside the title. */
  status(name: string): Promise<void> {
    return this.page.locator(`#status[data-status="${name}"]`).waitFor();
  }

  /**
   * What the page says about a failure of this kind, while it does: beside the record button, or in the place
   * of the latest result.
   */
  notice(kind: string): Locator {
    return this.page.locator(`:is(#notice, #latest .said)[data-kind="${kind}"]:visible`);
  }

  /** Waits until the page speaks of a failure of this kind. */
  says(kind: string): Promise<void> {
    return this.notice(kind).waitFor();
  }

  /** @param name or a part of it: those beside a recording name it, too */
  button(name: string): Locator {
    return this.page.getByRole('button', { name });
  }

  /** Listens to a live region as a screen reader does. @returns what asks for all that it has said since */
  async listenTo(selector: string): Promise<() => Promise<string[]>> {
    await this.page.evaluate(`
      globalThis.spoken = [];
      const region = document.querySelector('${selector}');
      new MutationObserver(() => spoken.push(region.textContent)).observe(region, { childList: true });
    `);
    return () => this.page.evaluate<string[]>('spoken');
  }

  /** The large text once a result is there. */
  async resultText(): Promise<string | null> {
    await this.page.locator('#latest dd').first().waitFor();
    return this.page.locator('#latest .said').textContent();
  }

  /**
   * The result, which is the text of the samples that the page keeps: nothing was lost, doubled or cut on the
   * way to the scripted recognizer.
   */
  async heardText(): Promise<string> {
    const text = await this.resultText();
    const samples = await this.savedSamples();
    expect([true, false].map((live) => textOfPieces(samples, live))).toContain(text);
    expect(await this.figure('audio_ms')).toBe(Math.round(samples.length / 32));
    return text ?? '';
  }

  /** A figure of the shown result by its name in the interface, in ms. */
  async figure(field: string): Promise<number> {
    const title = await this.page.locator(`#latest [title^="${field}"]`).getAttribute('title');
    return Number(title?.split(' ')[1]);
  }

  /** Where the last bar in full colour of a waveform stands, as a part of its width. */
  waveEnds(selector: string): Promise<number> {
    return this.page.evaluate(`(() => {
      const canvas = document.querySelector('${selector}');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let last = 0;
      for (let n = 3; n < data.length; n += 4)
        if (data[n] === 255) last = Math.max(last, ((n - 3) / 4) % canvas.width);
      return last / canvas.width;
    })()`);
  }

  /** Of the latest recording, as the page saves it. */
  async savedSamples(): Promise<Buffer> {
    return (await this.saved('.wav')).subarray(HEADER_BYTES);
  }

  /** The latest recording's file of this kind. */
  async saved(extension: string): Promise<Buffer> {
    const saving = this.page.waitForEvent('download');
    await this.page.locator(`#latest [download$="${extension}"]`).click();
    return readFile(await (await saving).path());
  }

  /** From now on the page's scripts have what it records with: `opened`, the microphone's stream, and `recordingContext`. */
  async watchMicrophone(): Promise<void> {
    await this.page.evaluate(`{
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
  }

  /** The browser shows no microphone in use any more. Only with `watchMicrophone`. */
  microphoneLetGo(): Promise<void> {
    return expect.poll(() => this.page.evaluate('window.opened?.getTracks()[0].readyState')).toBe('ended');
  }
}
