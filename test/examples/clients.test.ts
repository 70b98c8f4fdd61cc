import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { TOKEN, upload } from '../support/service/api.ts';
import { type RealService, startRealService } from '../support/service/real-service.ts';
import { type HttpScript, ScriptedService } from '../unit/client/scripted-service.ts';
import { type CodeBlock, codeBlocks, readersFolder } from './reader.ts';

const root = packageRoot();
const PAGES = ['docs/clients.md', 'docs/other-languages.md', 'client/README.md'];
const RECORDING = join(root, 'test/fixtures/real-speech/BAC009S0150W0409.wav');
/** Where programs of others are, besides those on PATH: a Python environment that holds node_modules, too (CONTRIBUTING.md). */
const TOOLS = process.env['EXAMPLES_TOOLS'] ?? join(root, '.cache/examples');

let service: RealService;
let blocks: readonly CodeBlock[];
let folder: string;
/** What the pages say that the recording says. */
let spoken: string;
/** Blocks that were run, or skipped with a reason. */
const seen = new Set<CodeBlock>();

beforeAll(async () => {
  service = await startRealService({ ASR_MODEL: 'bundled' });
  const pages = PAGES.map((page) => readFileSync(join(root, page), 'utf8')).join('\n');
  blocks = codeBlocks(pages.replaceAll('127.0.0.1:8088', new URL(service.origin).host));
  folder = readersFolder(blocks, RECORDING);
  // Where there is none, the link leads nowhere, and its test is skipped.
  for (const installed of ['node_modules/openai', 'node_modules/.bin/wscat'])
    symlinkSync(join(TOOLS, installed), join(folder, installed));
  spoken = JSON.parse(block(({ language }) => language === 'json').code).text;
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

function block(is: (block: CodeBlock) => boolean): CodeBlock {
  const [found, ...more] = blocks.filter(is);
  if (found === undefined || more.length > 0) throw new Error(`${1 + more.length} blocks for ${is}`);
  seen.add(found);
  return found;
}
const named = (file: string): CodeBlock => block((candidate) => candidate.file === file);
const shell = (words: string): CodeBlock =>
  block(({ language, code }) => language === 'sh' && code.includes(words));

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: [join(TOOLS, 'bin'), process.env['PATH']].join(':'),
  NO_PROXY: '127.0.0.1',
  ASR_API_TOKEN: TOKEN,
  ASR_URL: service.origin,
});

/** Skips the test, and says so, where one of these commands fails. */
function needs(context: TestContext, ...commands: readonly string[]): void {
  for (const command of commands) {
    const { status } = spawnSync('bash', ['-c', command], { cwd: folder, env: environment() });
    context.skip(status !== 0, `"${command}" fails here`);
  }
}

function start(command: string) {
  return spawn('bash', ['-e', '-o', 'pipefail', '-c', command], { cwd: folder, env: environment() });
}

async function ended(child: ReturnType<typeof start>) {
  const closed = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: (await closed)[0], stdout, stderr };
}

/** @returns what a command prints that must go well */
async function output(command: string): Promise<string> {
  const child = start(command);
  child.stdin.end();
  const { code, stdout, stderr } = await ended(child);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

const lastLine = (lines: string): string | undefined => lines.trim().split('\n').at(-1);

/** A file of another format, as people have them. */
async function makeSpeechFile(): Promise<void> {
  await output('ffmpeg -v error -y -i recording.wav -c:a aac -ar 44100 speech.m4a');
}

test('curl', async (context) => {
  const { code } = shell('curl -H');
  needs(context, 'curl --version');
  const answer = { text: spoken, audio_ms: 3877, inference_ms: expect.any(Number) };
  expect(JSON.parse(await output(code))).toEqual(answer);
});

test('ffmpeg makes a WAV that the service takes', async (context) => {
  const { code } = shell('converted.wav');
  needs(context, 'ffmpeg -version');
  await makeSpeechFile();
  await output(code);
  expect(await upload(service.origin, readFileSync(join(folder, 'converted.wav')))).toMatchObject({
    status: 200,
  });
});

test('asr-client, as docs/clients.md and its README show it', async () => {
  const page = shell('npx asr-client transcribe recording.wav\nnpx');
  expect(await output(page.code)).toBe(`${spoken}\n${spoken}\n`);
  const lines = (await output(shell('npx asr-client ready').code)).split('\n');
  expect(lines.slice(0, 3)).toEqual(['ready', spoken, spoken]);
});

test('the module, as its README shows it', async () => {
  named('recognize.mjs');
  const [first, ...lines] = (await output('node recognize.mjs')).trim().split('\n');
  expect([first, lines.at(-1)]).toEqual([spoken, spoken]);
  expect(lines.length).toBeGreaterThan(1);
});

test('ffmpeg in front of asr-client', async (context) => {
  const { code } = shell('| npx asr-client');
  needs(context, 'ffmpeg -version');
  await makeSpeechFile();
  expect(lastLine(await output(code))).toBe(spoken);
});

test('ffmpeg in front of live.py', async (context) => {
  const { code } = shell('| python3 live.py');
  named('live.py');
  needs(context, 'ffmpeg -version', 'python3 -c "import websockets"');
  await makeSpeechFile();
  const lines = await output(code);
  expect(lastLine(lines)).toBe(`final ${spoken}`);
  expect(lines).toMatch(/^partial ./);
});

test('upload.go', async (context) => {
  named('upload.go');
  needs(context, 'go version');
  expect(JSON.parse(await output('go run upload.go'))).toMatchObject({ text: spoken });
});

test('Upload.java', async (context) => {
  named('Upload.java');
  const { code } = shell('java Upload.java');
  needs(context, 'javac -version');
  expect(JSON.parse(await output(code))).toMatchObject({ text: spoken });
});

test('ffmpeg in front of Live.java', async (context) => {
  named('Live.java');
  const { code } = shell('| java Live.java');
  needs(context, 'ffmpeg -version', 'javac -version');
  await makeSpeechFile();
  const [ready, ...texts] = (await output(code))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect([ready, texts[0], texts.at(-1)]).toMatchObject([
    { type: 'ready' },
    { type: 'partial' },
    { type: 'final', text: spoken },
  ]);
});

describe.each([
  {
    sdk: 'OpenAI’s Python SDK',
    file: 'transcribe_openai.py',
    run: 'python3',
    there: 'python3 -c "import openai"',
    asked: `
import json, os, openai
client = openai.OpenAI(base_url=os.environ["ASR_URL"] + "/v1", api_key=os.environ["ASR_API_TOKEN"])
def ask(**options):
    with open("recording.wav", "rb") as recording:
        return client.audio.transcriptions.create(file=recording, model="any", **options)
verbose = ask(response_format="verbose_json", timestamp_granularities=["word"], language="en", prompt="x", temperature=1)
answer = {"srt": json.loads(ask(response_format="srt")), "text": verbose.text, "words": verbose.words}
try:
    client.models.list()
except openai.NotFoundError as error:
    print(json.dumps({**answer, "events": list(ask(stream=True)), "models": error.status_code}))`,
  },
  {
    sdk: 'OpenAI’s Node SDK',
    file: 'transcribe-openai.mjs',
    run: 'node',
    there: 'test -e node_modules/openai/package.json',
    asked: `
import { createReadStream } from 'node:fs';
import OpenAI from 'openai';
const client = new OpenAI({ baseURL: process.env.ASR_URL + '/v1', apiKey: process.env.ASR_API_TOKEN });
const ask = (options) => client.audio.transcriptions.create({ file: createReadStream('recording.wav'), model: 'any', ...options });
const srt = await ask({ response_format: 'srt' });
const options = { timestamp_granularities: ['word'], language: 'en', prompt: 'x', temperature: 1 };
const { text, words = null } = await ask({ response_format: 'verbose_json', ...options });
const events = [];
for await (const event of await ask({ stream: true })) events.push(event);
const models = await client.models.list().catch((error) => error.status);
console.log(JSON.stringify({ srt, text, words, events, models }));`,
  },
])('$sdk', ({ file, run, there, asked }) => {
  /** Saves a variant of the example. */
  const variant = (name: string, code: string): string => {
    const saved = `${name}-${file}`;
    writeFileSync(join(folder, saved), code);
    return `${run} ${saved}`;
  };

  test('the example', async (context) => {
    named(file);
    needs(context, there);
    expect(await output(`${run} ${file}`)).toBe(`${spoken}\n`);
  });

  test('an MP3 is refused', async (context) => {
    needs(context, there);
    writeFileSync(join(folder, 'speech.mp3'), Buffer.concat([Buffer.from('ID3'), Buffer.alloc(1_000)]));
    const child = start(variant('mp3', named(file).code.replace('recording.wav', 'speech.mp3')));
    expect(await ended(child)).toMatchObject({ code: 1, stderr: expect.stringContaining('invalid_format') });
  });

  test('what does not work, as the table says', async (context) => {
    needs(context, there);
    const answer = JSON.parse(await output(variant('table', asked)));
    const json = { text: spoken, audio_ms: 3877, inference_ms: expect.any(Number) };
    expect(answer).toEqual({ srt: json, text: spoken, words: null, events: [], models: 404 });
  });

  test('it tries again after busy and not_ready, twice unless told otherwise', async (context) => {
    needs(context, there);
    const scripted = await ScriptedService.start();
    const says = (status: number, body: object): HttpScript => {
      const headers = { 'content-type': 'application/json' };
      return (response) => response.writeHead(status, headers).end(JSON.stringify(body));
    };
    const result = { text: '你好', audio_ms: 100, inference_ms: 1 };
    scripted.http = [says(409, { error: 'busy' }), says(503, { error: 'not_ready' }), says(200, result)];
    const code = named(file).code.replace(service.origin, scripted.url);
    const byDefault = code.replace(/, max_?[rR]etries\W+8/, '');
    expect(byDefault).not.toBe(code);
    expect(await output(variant('retry', byDefault))).toBe('你好\n');
    expect(scripted.requests.length).toBe(3);
    await scripted.stop();
  });
});

test('wscat: what the page lets a reader type, and what comes', async (context) => {
  const { code } = shell('wscat');
  const session = block(({ language, code }) => language === 'text' && code.startsWith('> {"type":"start"'));
  needs(context, 'test -e node_modules/.bin/wscat', 'script --version');
  // It hides from a pipe that it is connected, so it gets a terminal.
  const child = start(`script --quiet --flush --return --command '${code.trim()}' /dev/null`);
  let shown = '';
  child.stdout.on('data', (piece) => {
    shown += piece;
  });
  const until = async (words: string): Promise<void> => {
    while (!shown.includes(words)) await once(child.stdout, 'data');
  };
  await until('Connected');
  for (const line of session.code.trim().split('\n')) {
    if (line.startsWith('> ')) child.stdin.write(`${line.slice(2)}\n`);
    else await until(/^< \{"type":"\w+"/.exec(line)?.[0] ?? line);
  }
  await once(child, 'close');
});

test('that were all examples of these pages', () => {
  expect(blocks.filter((candidate) => !seen.has(candidate))).toEqual([]);
});
