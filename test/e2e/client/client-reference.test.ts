import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CodeBlock, codeBlocks, readersFolder } from '../../examples/reader.ts';
import { fixture } from '../../support/audio/fixtures.ts';
import { wavFile } from '../../support/audio/wav.ts';
import { chromiumPath } from '../../support/machine/chromium.ts';
import { TOKEN, upload } from '../../support/service/api.ts';
import { type RealService, startRealService } from '../../support/service/real-service.ts';

const { path: recording, pcm, text: spoken } = fixture('e12');
const run = promisify(execFile);

/** The code blocks of /api-reference.md, as they stand in the text that a reader gets. */
let blocks: readonly CodeBlock[];
/** A reader's folder: the examples saved under their names, a recording, what `npm install` would have put there. */
let folder: string;
let service: RealService;
const shellBlocksRun = new Set<CodeBlock>();

beforeAll(async () => {
  service = await startRealService({});
  blocks = codeBlocks(await (await fetch(`${service.origin}/api-reference.md`)).text());

  folder = readersFolder(blocks, recording);
  const silence = (seconds: number): Buffer => Buffer.alloc(seconds * 32_000);
  const microphone = wavFile(Buffer.concat([silence(0.5), pcm, silence(15)]));
  writeFileSync(join(folder, 'microphone.wav'), microphone);
}, 30_000);
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

async function runHere(program: string, args: readonly string[], cwd = folder): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: folder, ASR_API_TOKEN: TOKEN };
  return (await run(program, args, { cwd, env })).stdout;
}

function has(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args).status === 0;
}

/** Runs the one shell block that holds `text`. */
async function shell(text: string, cwd = folder): Promise<string> {
  const [block, ...more] = blocks.filter(({ language, code }) => language === 'sh' && code.includes(text));
  if (block === undefined || more.length > 0) throw new Error(`not one shell block with ${text}`);
  shellBlocksRun.add(block);
  return runHere('bash', ['-e', '-c', block.code], cwd);
}

const answer = expect.objectContaining({ text: spoken, audio_ms: 2405, inference_ms: expect.any(Number) });

test('no placeholder is left, and every named example is one that is tested here', () => {
  expect(blocks.map(({ code }) => code).join()).not.toContain('{base_url}');
  expect(blocks.flatMap(({ file }) => file ?? []).sort()).toEqual([
    'client.mjs',
    'dictate.html',
    'stream.mjs',
    'stream.py',
    'transcribe.mjs',
    'transcribe.py',
    'upload.html',
  ]);
});

describe('shell', () => {
  const curl = has('curl', ['--version']);
  const ffmpeg = has('ffmpeg', ['-version']);
  test.skipIf(!curl)('curl: readiness and a transcription', async () => {
    const [ready = '', result = ''] = (await shell('/readyz')).split(/(?<=\})/);
    expect(JSON.parse(ready)).toEqual({ status: 'ready', busy: false });
    expect(JSON.parse(result)).toEqual(answer);
    expect(JSON.parse(await shell('/healthz'))).toEqual({ status: 'alive' });
    expect(JSON.parse(await shell('--fail-with-body'))).toEqual(answer);
  });

  test.skipIf(!ffmpeg)('ffmpeg makes a WAV that the service takes', async () => {
    const elsewhere = mkdtempSync(join(folder, 'ffmpeg-'));
    await run('ffmpeg', [
      '-v',
      'error',
      '-i',
      recording,
      '-ar',
      '44100',
      '-c:a',
      'aac',
      join(elsewhere, 'speech.m4a'),
    ]);
    await shell('speech.m4a', elsewhere);
    expect(await upload(service.origin, readFileSync(join(elsewhere, 'recording.wav')))).toMatchObject({
      status: 200,
    });
  });

  test('npx asr-client', async () => {
    expect(await shell('npx asr-client transcribe')).toBe(`${spoken}\n${spoken}\nready\n`);
  });

  test('that were all of them', () => {
    const missing = blocks.filter((block) => block.language === 'sh' && !shellBlocksRun.has(block));
    const needsWhatIsNotHere = (code: string): boolean =>
      (!curl && code.startsWith('curl')) || (!ffmpeg && code.startsWith('ffmpeg'));
    expect(missing.map(({ code }) => code).filter((code) => !needsWhatIsNotHere(code))).toEqual([]);
  });
});

describe('Node.js', () => {
  test('transcribe.mjs', async () => {
    expect(await runHere(process.execPath, ['transcribe.mjs'])).toBe(`${spoken}\n`);
  });

  test.for(['stream.mjs', 'client.mjs'])('%s shows partials and the final text', async (file) => {
    const lines = (await runHere(process.execPath, [file])).trim().split('\n');
    expect(lines.at(-1)).toBe(spoken);
    expect(lines.filter((line) => line.startsWith('… ')).length).toBeGreaterThan(0);
  });
});

describe('Python', () => {
  const python = ['python3', '/usr/bin/python3'].find((candidate) => has(candidate, ['--version']));
  const withWebsockets = ['python3', '/usr/bin/python3'].find((candidate) =>
    has(candidate, ['-c', 'import websockets']),
  );

  test.skipIf(!python)('transcribe.py, where python3 is there', async () => {
    expect(await runHere(python ?? '', ['transcribe.py'])).toBe(`${spoken}\n`);
  });

  test.skipIf(!withWebsockets)('stream.py, where the module websockets is there', async () => {
    const lines = (await runHere(withWebsockets ?? '', ['stream.py'])).trim().split('\n');
    expect(lines.at(-1)).toBe(spoken);
    expect(lines.filter((line) => line.startsWith('… ')).length).toBeGreaterThan(0);
  });

  test.skipIf(!python || withWebsockets)('stream.py compiles, where websockets is not there', async () => {
    await runHere(python ?? '', ['-m', 'py_compile', 'stream.py']);
  });
});

describe('Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: chromiumPath(),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--use-fake-device-for-media-stream',
        '--use-fake-ui-for-media-stream',
        `--use-file-for-fake-audio-capture=${join(folder, 'microphone.wav')}%noloop`,
      ],
    });
  });
  afterAll(() => browser.close());

  test('upload.html, as the service serves it', async () => {
    const page = await browser.newPage();
    await page.goto(`${service.origin}/examples/upload.html`);
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByLabel('WAV file').setInputFiles(recording);
    await page.getByRole('button', { name: 'Recognize' }).click();
    await page.getByRole('status').getByText(spoken, { exact: true }).waitFor();
  });

  test('dictate.html, as the service serves it, hears what is spoken', async () => {
    const page = await browser.newPage();
    await page.goto(`${service.origin}/examples/dictate.html`);
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Speak' }).click();
    const text = page.getByRole('status');
    await page.locator('#text', { hasText: /.{4}/ }).waitFor();
    // Until all is heard; the 15 s limit ends it otherwise.
    const heard = page.locator('#text', { hasText: new RegExp(`.{${spoken.length}}`) });
    await heard.or(page.locator('body[data-state]')).first().waitFor();
    await page.getByRole('button', { name: 'Done' }).click({ force: true });
    await page.locator('body[data-state="final"]').waitFor();
    const finalText = (await text.textContent()) ?? '';
    // The browser's fake microphone drops samples on a machine that has much else to do.
    const found = [...spoken].filter((character) => finalText.includes(character));
    expect(found.length, finalText).toBeGreaterThanOrEqual(spoken.length - 2);
  });
});
