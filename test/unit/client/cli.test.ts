import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { parseCommandLine } from '../../../api/client/cli/command-line.ts';
import { UsageError } from '../../../api/client/cli/exit-codes.ts';
import { StatusLine } from '../../../api/client/cli/status-line.ts';
import { packageRoot } from '../../../common/package-root.ts';
import { wavFile } from '../../support/wav.ts';
import { drop, html, json, recognizeAs, ScriptedService } from './scripted-service.ts';

const TOKEN = 'a-token-of-the-tests';
const RESULT = { text: '你好', audio_ms: 100, inference_ms: 12.5 };
const BUSY = json(409, { error: 'busy', message: 'another recognition task is active' });

let folder: string;
let service: ScriptedService;
let good: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'asr-client-'));
  good = file('good.wav', wavFile(Buffer.alloc(3_200, 1)));
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  service = await ScriptedService.start();
});
afterEach(() => service.stop());

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command as a process of its own. */
async function run(args: readonly string[], env: Record<string, string> = {}, stdin?: Buffer): Promise<Ran> {
  const child = start(args, env);
  child.stdin.end(stdin);
  return ended(child);
}

function start(args: readonly string[], env: Record<string, string> = {}) {
  return spawn(process.execPath, [join(packageRoot(), 'dist/api/client/cli.js'), ...args], {
    env: { PATH: process.env['PATH'], ASR_URL: service.url, ASR_API_TOKEN: TOKEN, ...env },
  });
}

async function ended(child: ReturnType<typeof start>): Promise<Ran> {
  const code = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

const lines = (stdout: string): unknown[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

test('one file: its text on stdout, nothing else', async () => {
  service.http = [json(200, RESULT)];
  expect(await run(['transcribe', good])).toEqual({ code: 0, stdout: '你好\n', stderr: '' });
  expect(service.requests[0]?.authorization).toBe(`Bearer ${TOKEN}`);
});

test('several files: each with its name; the code of the first failure, the others are still tried', async () => {
  service.http = [json(200, RESULT), json(200, { ...RESULT, text: '再见' })];
  const long = file('long.wav', wavFile(Buffer.alloc(480_002)));
  const missing = join(folder, 'missing.wav');
  const { code, stdout, stderr } = await run(['transcribe', good, long, missing, good]);
  expect(code).toBe(1);
  expect(stdout).toBe(`${good}: 你好\n${good}: 再见\n`);
  expect(stderr.split('\n')).toEqual([
    `asr-client: ${long}: the recording is 15.000 s long; at most 15 s are taken, so split it [audio_too_long]`,
    expect.stringContaining(`${missing}: ENOENT`),
    '',
  ]);
});

test('--json: one object a line, for failures, too; text cannot steer the terminal without it', async () => {
  service.http = [json(200, { ...RESULT, text: 'a\u001b[31m\nb' })];
  const empty = file('empty.wav', wavFile(Buffer.alloc(0)));
  const { code, stdout } = await run(['transcribe', '--json', good, empty]);
  expect(code).toBe(1);
  expect(lines(stdout)).toEqual([
    { file: good, ...RESULT, text: 'a\u001b[31m\nb' },
    { file: empty, error: 'empty_audio', message: 'the recording has no audio sample' },
  ]);
  expect((await run(['transcribe', good])).stdout).toBe('a [31m b\n');
});

test('busy, then free: tries again and says so', async () => {
  service.http = [BUSY, html(502, '<h1>Bad Gateway</h1>'), drop, json(200, RESULT)];
  const { code, stdout, stderr } = await run(['transcribe', good]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '你好\n' });
  expect(stderr).toMatch(/busy \(another recognition task is active\); attempt 2 of 8 in 0\.\d s/);
  expect(stderr).toMatch(/unavailable .*attempt 3 of 8/);
  expect(stderr).toMatch(/network .*attempt 4 of 8/);
});

test.for([
  { what: 'busy to the last attempt', answer: BUSY, code: 4, requests: 2 },
  { what: 'a wrong token', answer: json(401, { error: 'unauthorized' }), code: 3, requests: 1 },
  { what: 'a proxy without its service', answer: html(502, ''), code: 5, requests: 1 },
])('$what: exit code $code, and the next file only where it may fare better', async (given) => {
  service.http = [given.answer];
  const ran = await run(['transcribe', '--attempts', '1', good, good]);
  expect(ran).toMatchObject({ code: given.code, stdout: '' });
  expect(service.requests.length).toBe(given.requests);
  expect(ran.stderr.includes('1 more recording was not tried')).toBe(given.requests === 1);
});

test.for([
  { args: ['transcribe', '--token', 'secret', 'a.wav'], says: 'use ASR_API_TOKEN or --token-file' },
  { args: ['transcribe', '--token=secret', 'a.wav'], says: 'use ASR_API_TOKEN or --token-file' },
  { args: ['transcribe'], says: 'at least one FILE' },
  { args: ['transcribe', '-', '-'], says: 'once only' },
  { args: ['transcribe', '--attempts', '0', 'a.wav'], says: '--attempts must be a whole number from 1' },
  { args: ['transcribe', '--fast', 'a.wav'], says: '--fast' },
  { args: ['ready', '--stream'], says: 'ready has no option --stream' },
  { args: ['ready', 'a.wav'], says: 'ready takes no file' },
  { args: ['listen'], says: 'unknown command "listen"' },
])('asr-client $args: a clear usage error', ({ args, says }) => {
  expect(() => parseCommandLine(args, {})).toThrow(says);
  expect(() => parseCommandLine(args, {})).toThrow(UsageError);
});

test('address: --url, else ASR_URL, else this machine', () => {
  const url = (args: string[], env: Record<string, string>) => parseCommandLine(['ready', ...args], env);
  expect(url(['--url', 'http://a'], { ASR_URL: 'http://b' })).toMatchObject({ url: 'http://a' });
  expect(url([], { ASR_URL: 'http://b' })).toMatchObject({ url: 'http://b' });
  expect(url([], { ASR_URL: '' })).toMatchObject({ url: 'http://127.0.0.1:8088' });
});

test.for([
  { args: ['ready', '--token', 'secret'], env: {}, says: 'use ASR_API_TOKEN or --token-file' },
  {
    args: ['ready'],
    env: { ASR_API_TOKEN: '' },
    says: 'no token: set ASR_API_TOKEN or give --token-file FILE',
  },
  { args: ['ready'], env: { ASR_URL: 'asr.example' }, says: '"asr.example" is no address' },
  { args: ['ready', '--token-file', '/nowhere/token'], env: {}, says: 'ENOENT' },
])('asr-client $args with $env: exit code 2 and a clear line', async ({ args, env, says }) => {
  const { code, stdout, stderr } = await run(args, env);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(says);
  expect(stderr).not.toContain('secret');
});

test('--help and --version', async () => {
  expect((await run(['--help'])).stdout).toContain('Exit codes');
  expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('a token from a file, with its line break', async () => {
  service.http = [json(200, RESULT)];
  const tokenFile = file('token', `${TOKEN}-of-a-file\n`);
  expect((await run(['transcribe', '--token-file', tokenFile, good])).code).toBe(0);
  expect(service.requests[0]?.authorization).toBe(`Bearer ${TOKEN}-of-a-file`);
});

test('standard input', async () => {
  service.http = [json(200, RESULT)];
  const wav = wavFile(Buffer.alloc(640, 3));
  expect(await run(['transcribe', '-'], {}, wav)).toMatchObject({ code: 0, stdout: '你好\n' });
  expect(service.requests[0]?.body.includes(wav)).toBe(true);
  expect(await run(['transcribe', '-'], {}, Buffer.alloc(0))).toMatchObject({ code: 1 });
});

test('--stream: the recording arrives, partials and the final text come out', async () => {
  service.stream = [recognizeAs('你好')];
  expect(await run(['transcribe', '--stream', good])).toEqual({ code: 0, stdout: '你好\n', stderr: '' });
  expect(service.sessions[0]?.pcm.equals(Buffer.alloc(3_200, 1))).toBe(true);
  const { stdout } = await run(['transcribe', '--stream', '--json', good]);
  expect(lines(stdout)).toEqual([
    { file: good, type: 'partial', revision: 1, text: '你' },
    { file: good, type: 'final', revision: 2, text: '你好', audio_ms: 100, finalize_ms: 1.5 },
  ]);
});

test('--stream: busy and a broken connection are tried again from the beginning', async () => {
  service.stream = [
    (session) => session.on('start', () => session.fail('busy', 1008)),
    (session) => session.on('start', () => session.ready()).on('audio', () => session.socket.terminate()),
    recognizeAs('你好'),
  ];
  const { code, stdout, stderr } = await run(['transcribe', '--stream', good]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '你好\n' });
  expect(stderr).toMatch(/busy .*attempt 2 of 8[\s\S]*network .*attempt 3 of 8/);
  expect(service.sessions[2]?.pcm.length).toBe(3_200);
});

test('--stream from standard input sends what is there before the rest has come', async () => {
  const heard = new Promise<void>((resolve) => {
    service.stream = [
      (session) => {
        recognizeAs('你好')(session);
        session.on('audio', resolve);
      },
    ];
  });
  const child = start(['transcribe', '--stream', '-']);
  const result = ended(child);
  const wav = wavFile(Buffer.alloc(8_000, 1), { dataBytes: 0xffff_ffff });
  child.stdin.write(wav.subarray(0, 4_000));
  await heard;
  child.stdin.end(wav.subarray(4_000));
  expect(await result).toEqual({ code: 0, stdout: '你好\n', stderr: '' });
  expect(service.sessions[0]?.pcm.equals(Buffer.alloc(8_000, 1))).toBe(true);
});

test('--stream from standard input that announces over 15 s: the clear error at once', async () => {
  service.stream = [recognizeAs('你好')];
  const wav = wavFile(Buffer.alloc(480_002)).subarray(0, 4_000);
  const { code, stdout, stderr } = await run(['transcribe', '--stream', '-'], {}, wav);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('[audio_too_long]');
});

test('other formats without ffmpeg: a clear line', async () => {
  const mp3 = file('speech.mp3', 'ID3 and so on');
  const { code, stderr } = await run(['transcribe', mp3], { PATH: '/nowhere' });
  expect(code).toBe(1);
  expect(stderr).toContain(
    `${mp3}: not a WAV file that is read here, and ffmpeg is not installed; install ffmpeg, or convert the file to WAV [invalid_format]`,
  );
});

/** Stands for ffmpeg, so that the test does not depend on whether it is installed: says 320 bytes, or complains. */
function ffmpegThat(does: string): Record<string, string> {
  const bin = mkdtempSync(join(folder, 'bin-'));
  writeFileSync(join(bin, 'ffmpeg'), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
  return { PATH: `${bin}:${process.env['PATH']}` };
}

test('other formats go through ffmpeg, from a file or standard input, a WAV of a foreign codec, too', async () => {
  service.http = [json(200, RESULT)];
  const speaks = ffmpegThat(
    `printf '%s\\n' "$@" > ${join(folder, 'arguments')}; head -c 320 /dev/zero | tr '\\0' '\\001'`,
  );
  const mp3 = file('speech.mp3', 'ID3 and so on');
  const adpcm = file('adpcm.wav', wavFile(Buffer.alloc(64), { formatCode: 2, bits: 4 }));
  expect(await run(['transcribe', mp3, adpcm, '-'], speaks, Buffer.from('OggS'))).toMatchObject({
    code: 0,
    stderr: '',
  });
  expect(service.requests.length).toBe(3);
  for (const { body } of service.requests) expect(body.includes(wavFile(Buffer.alloc(320, 1)))).toBe(true);
  const broken = ffmpegThat('echo "first line" >&2; echo "Invalid data found" >&2; exit 1');
  expect((await run(['transcribe', mp3], broken)).stderr).toContain(
    'neither a WAV file nor readable for ffmpeg: Invalid data found [invalid_format]',
  );
  const endless = ffmpegThat('head -c 512000 /dev/zero');
  expect((await run(['transcribe', mp3], endless)).stderr).toContain('longer than 15 s');
});

test('ready: in words, as JSON, with exit codes; --wait asks until it is so', async () => {
  service.http = [json(200, { status: 'ready', busy: false })];
  expect(await run(['ready'])).toEqual({ code: 0, stdout: 'ready\n', stderr: '' });
  service.http = [json(503, { status: 'loading', busy: false, error: 'ModelError' })];
  expect(await run(['ready'])).toEqual({
    code: 4,
    stdout: 'loading; the last attempt failed: ModelError\n',
    stderr: '',
  });
  service.http = [
    drop,
    html(502, ''),
    json(503, { status: 'loading', busy: false }),
    json(200, { status: 'ready', busy: true }),
  ];
  const waited = await run(['ready', '--wait', '20', '--json']);
  expect(waited).toEqual({ code: 0, stdout: '{"status":"ready","busy":true}\n', stderr: '' });
  service.http = [json(401, { error: 'unauthorized', message: 'the token is wrong' })];
  expect(await run(['ready', '--wait', '20'])).toMatchObject({
    code: 3,
    stderr: 'asr-client: the token is wrong\n',
  });
});

test('an interrupt ends it with 130, in a stream and in a wait for standard input', async () => {
  const child = start(['transcribe', '--stream', '-', good]);
  service.stream = [(session) => session.on('start', () => child.kill('SIGINT'))];
  child.stdin.write(wavFile(Buffer.alloc(8_000), { dataBytes: 0xffff_ffff }));
  expect(await ended(child)).toEqual({ code: 130, stdout: '', stderr: '' });
  await service.sessions[0]?.closed;
});

test('the line in place: the end of a text that is too long for the terminal, Chinese taken as two columns', () => {
  let written = '';
  const write = (piece: string): boolean => {
    written += piece;
    return true;
  };
  const line = new StatusLine({ isTTY: true, columns: 20, write } as never);
  line.show('a.wav  ', '今天天气很好我们去');
  expect(written).toBe('\r\u001b[Ka.wav  …很好我们去');
  line.clear();
  line.clear();
  expect(written.endsWith('去\r\u001b[K')).toBe(true);
  written = '';
  new StatusLine({ isTTY: false, columns: 0, write } as never).show('a', 'b');
  expect(written).toBe('');
});
