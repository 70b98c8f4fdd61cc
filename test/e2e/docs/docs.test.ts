import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import Value from 'typebox/value';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../api/docs/openapi-examples.ts';
import * as schemas from '../../../common/messages/http.ts';
import { packageRoot } from '../../../common/process/package-root.ts';
import { wavFile } from '../../support/audio/wav.ts';
import { StreamClient } from '../../support/clients/stream-client.ts';
import { AUTHORIZED, TOKEN, upload } from '../../support/service/api.ts';
import { launchBrowser, openPage } from '../page/browser.ts';
import { type PageService, startPageService } from '../page/service.ts';

const FIXTURES = join(packageRoot(), 'test', 'fixtures');
const WAV = join(FIXTURES, 'e12.wav');

/** An example of an answer to an upload. @throws where there is none of this name, since anything matches nothing */
function example(status: number, name: string): object {
  const found = EXAMPLES['/v1/audio/transcriptions']?.['post']?.[status]?.[name];
  if (found === undefined) throw new Error(`there is no example ${name} of ${status}`);
  return found;
}
const anyTime = { ...example(200, 'text'), inference_ms: expect.any(Number) };

let service: PageService;
let browser: Browser;
let beforeReady: { status: number; body: unknown };

beforeAll(async () => {
  service = await startPageService();
  const wav = readFileSync(WAV);
  beforeReady = await upload(service.directOrigin, wav, AUTHORIZED);
  service.startModel('small');
  browser = await launchBrowser(WAV);
}, 30_000);

afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

/** One operation of the page, unfolded. */
async function unfold(page: Page, operationId: string): Promise<Locator> {
  const operation = page.locator(`[id$="-${operationId}"]`);
  await operation.locator('.opblock-summary-control').click();
  await operation.locator('button.execute').waitFor();
  return operation;
}

interface Shown {
  readonly status: string;
  readonly body: unknown;
  readonly curl: string;
}

/** Presses "Execute"; what the page then shows of the answer. */
async function execute(operation: Locator): Promise<Shown> {
  await operation.locator('button.execute').click();
  const answer = operation.locator('.live-responses-table .response');
  const text = async (part: Locator): Promise<string> => (await part.textContent()) ?? '';
  const status = await text(answer.locator('.response-col_status'));
  const body: unknown = JSON.parse(await text(answer.locator('.highlight-code code').first()));
  return { status: status.trim(), body, curl: await text(operation.locator('.curl code')) };
}

const hasCurl = spawnSync('curl', ['--version']).status === 0;

/** Checks the answer to a shown curl command, as pasted into a shell in the folder of the recording. */
async function paste(curl: string, expected: unknown): Promise<void> {
  if (!hasCurl) return;
  const { stdout } = await promisify(execFile)('bash', ['-c', curl], { cwd: FIXTURES });
  expect(JSON.parse(stdout)).toEqual(expected);
}

describe('/api-docs', { timeout: 60_000 }, () => {
  it.each(['127.0.0.1', 'localhost'])('opened at %s answers every operation in its form', async (host) => {
    const origin = service.directOrigin.replace('127.0.0.1', host);
    const { tab, page, complaints } = await openPage(browser, origin, 'en-GB');
    // The page at / waits for the service, and so the model is there.
    await tab.enterToken();
    await page.locator('#status[data-status="ready"]').waitFor({ timeout: 40_000 });

    await page.goto(`${origin}/api-docs`);
    await page.getByRole('button', { name: 'Authorize' }).click();
    await page.locator('.auth-container input').fill(TOKEN);
    await page.locator('.auth-btn-wrapper .authorize').click();
    await page.locator('.auth-btn-wrapper .btn-done').click();

    const health = await execute(await unfold(page, 'getHealth'));
    expect(health).toMatchObject({ status: '200', body: { status: 'alive' } });
    await paste(health.curl, health.body);

    const readiness = await execute(await unfold(page, 'getReadiness'));
    expect(readiness).toMatchObject({ status: '200', body: { status: 'ready', busy: false } });
    await paste(readiness.curl, readiness.body);

    const upload = await unfold(page, 'createTranscription');
    await upload.locator('input[type=file]').setInputFiles(WAV);
    const transcription = await execute(upload);
    expect(transcription).toMatchObject({ status: '200', body: anyTime });
    expect(transcription.curl).toContain(`${origin}/v1/audio/transcriptions`);
    await paste(transcription.curl, anyTime);
    expect(complaints).toEqual([]);
  });
});

describe('the examples of /openapi.json', () => {
  it('fit the schemas of their answers', () => {
    const { ApiError, HealthResult, HTTPValidationError, ReadyResult, TranscriptionResult, ValidationError } =
      schemas;
    const named = { ApiError, HealthResult, HTTPValidationError, ReadyResult, TranscriptionResult };
    const results = ['HealthResult', 'ReadyResult', 'TranscriptionResult'] as const;
    let count = 0;
    for (const [n, methods] of Object.values(EXAMPLES).entries()) {
      for (const [status, bodies] of Object.values(methods).flatMap((byStatus) => Object.entries(byStatus))) {
        const isResult = status === '200' || (status === '503' && n === 1);
        const name = isResult ? results[n] : status === '422' ? 'HTTPValidationError' : 'ApiError';
        for (const body of Object.values(bodies)) {
          expect(Value.Check({ ValidationError }, named[name ?? 'ApiError'], body), status).toBe(true);
          count += 1;
        }
      }
    }
    expect(count).toBeGreaterThan(15);
  });

  it('are what the service says', async () => {
    expect(beforeReady).toMatchObject({ status: 503, body: example(503, 'not_ready') });
    const send = (file: Buffer, headers: Record<string, string> = AUTHORIZED) =>
      upload(service.directOrigin, file, headers);
    const second = Buffer.alloc(32_000);
    for (const [status, name, answer] of [
      [200, 'text', await send(readFileSync(WAV))],
      [400, 'invalid_format', await send(wavFile(second, { sampleRateHz: 44_100 }))],
      [400, 'empty_audio', await send(wavFile(Buffer.alloc(0)))],
      [400, 'audio_too_long', await send(wavFile(Buffer.alloc(480_002)))],
      [401, 'unauthorized', await send(second, {})],
      [413, 'upload_too_large', await send(wavFile(Buffer.alloc(484_053)).subarray(0, -1))],
    ] as const) {
      const body = status === 200 ? anyTime : example(status, name);
      expect(answer, name).toMatchObject({ status, body });
    }
    const form = new FormData();
    form.append('other', new Blob([second]), 'other.wav');
    const path = `${service.directOrigin}/v1/audio/transcriptions`;
    const without = await fetch(path, { method: 'POST', headers: AUTHORIZED, body: form });
    expect(await without.json()).toEqual(example(422, 'missing'));

    const other = await StreamClient.connect(`${service.directOrigin.replace('http', 'ws')}/ws/asr`);
    other.start({ api_token: TOKEN });
    await other.message('ready');
    const busy = await send(wavFile(second));
    expect(busy).toMatchObject({ status: 409, body: example(409, 'busy') });
    const readiness = await fetch(`${service.directOrigin}/readyz`, { headers: AUTHORIZED });
    expect(await readiness.json()).toEqual(EXAMPLES['/readyz']?.['get']?.['200']?.['busy']);
    other.terminate();
  });
});
