import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { wavFile } from '../../support/audio/wav.ts';
import { CLI, clientRuns, jsonLines } from '../../unit/client/client-process.ts';
import { drop, html, json, ScriptedService } from '../../unit/client/scripted-service.ts';
import { TOKEN } from '../../unit/client/sessions.ts';

const RESULT = { text: '你好', audio_ms: 100, inference_ms: 12.5 };
const BUSY = json(409, { error: 'busy', message: 'another recognition task is active' });

let service: ScriptedService;
const { folder, file, start, run, good } = clientRuns(() => service);
beforeEach(async () => {
  service = await ScriptedService.start();
});
afterEach(() => service.stop());

test('one file: its text on stdout, nothing else', async () => {
  service.http = [json(200, RESULT)];
  expect(await run(['transcribe', good])).toEqual({ code: 0, stdout: '你好\n', stderr: '' });
  expect(service.requests[0]?.authorization).toBe(`Bearer ${TOKEN}`);
});

test('several files: each with its name; the code of the first failure, the others are still tried', async () => {
  service.http = [json(200, RESULT), json(200, { ...RESULT, text: '再见' })];
  const cut = file('cut.wav', wavFile(Buffer.alloc(60), { dataBytes: 120 }));
  const missing = join(folder, 'missing.wav');
  const { code, stdout, stderr } = await run(['transcribe', good, cut, missing, good]);
  expect(code).toBe(1);
  expect(stdout).toBe(`${good}: 你好\n${good}: 再见\n`);
  expect(stderr.split('\n')).toEqual([
    expect.stringContaining(`${cut}: The WAV file is cut off`),
    `asr-client: ${missing}: there is no such file; check its name and folder [unreadable]`,
    '',
  ]);
});

test('the exit code is that of the first recording that failed, not of the last', async () => {
  service.http = [BUSY];
  const ran = await run(['transcribe', '--attempts', '1', join(folder, 'missing.wav'), good]);
  expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('[busy]') });
});

test('--json: one object a line, for failures, too; text cannot steer the terminal without it', async () => {
  const said = 'a\u001b[31m\nb';
  service.http = [json(200, { ...RESULT, text: said })];
  const empty = file('empty.wav', wavFile(Buffer.alloc(0)));
  const { code, stdout } = await run(['transcribe', '--json', good, empty]);
  expect(code).toBe(1);
  expect(jsonLines(stdout)).toEqual([
    { file: good, ...RESULT, text: said, pieces: [{ text: said, start_ms: 0, end_ms: 100 }] },
    { file: empty, error: 'empty_audio', message: 'The recording has no audio sample' },
  ]);
  expect((await run(['transcribe', good])).stdout).toBe('a\\u{1b}[31m\\u{a}b\n');
});

test('a folder in place of a file is told in words', async () => {
  const { code, stderr } = await run(['transcribe', folder]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `asr-client: ${folder}: it is a folder; give the recordings in it, such as FOLDER/*.wav [unreadable]\n`,
  });
});

test('a service that stays busy is said once for a file, not once a second', async () => {
  service.http = [BUSY, BUSY, BUSY, json(200, RESULT)];
  const { stdout, stderr } = await run(['transcribe', good]);
  expect({ stdout, lines: stderr.match(/busy/g)?.length }).toEqual({ stdout: '你好\n', lines: 1 });
});

test('busy, then free: tries again and says so', async () => {
  service.http = [BUSY, html(502, '<h1>Bad Gateway</h1>'), drop, json(200, RESULT)];
  const { code, stdout, stderr } = await run(['transcribe', good]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '你好\n' });
  expect(stderr).toMatch(/busy \(another recognition task is active\); attempt 2 in 1\.\d s/);
  expect(stderr).toMatch(/unavailable .*attempt 3/);
  expect(stderr).toMatch(/network .*attempt 4/);
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
  { args: ['ready', '--token', 'secret'], env: {}, says: 'use ASR_API_TOKEN or --token-file' },
  {
    args: ['ready'],
    env: { ASR_API_TOKEN: '' },
    says: 'no token: set ASR_API_TOKEN or give --token-file FILE',
  },
  {
    args: ['ready'],
    env: { ASR_URL: 'asr.example' },
    says: '"asr.example" is not http://HOST:PORT or https://HOST',
  },
  { args: ['ready', '--token-file', '/nowhere/token'], env: {}, says: 'ENOENT' },
])('asr-client $args with $env: exit code 2 and a clear line', async ({ args, env, says }) => {
  const { code, stdout, stderr } = await run(args, env);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(says);
  expect(stderr).not.toContain('secret');
});

test('--help and --version; without a command, the help is for the person and the exit code for the script', async () => {
  const help = await run(['--help']);
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes'), stderr: '' });
  expect(await run([])).toEqual({
    code: 2,
    stdout: '',
    stderr: `${help.stdout}\nasr-client: the command is missing: transcribe FILE... or ready (asr-client --help)\n`,
  });
  expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('a token from a file, with its line break', async () => {
  service.http = [json(200, RESULT)];
  const tokenFile = file('token', `${TOKEN}-of-a-file\n`);
  expect((await run(['transcribe', '--token-file', tokenFile, good])).code).toBe(0);
  expect(service.requests[0]?.authorization).toBe(`Bearer ${TOKEN}-of-a-file`);
});

test('a file that another program writes (a named pipe): read once, from its beginning', async () => {
  service.http = [json(200, RESULT)];
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const wav = wavFile(Buffer.alloc(640, 3));
  const [ended] = await Promise.all([run(['transcribe', pipe]), writeFile(pipe, wav)]);
  expect(ended).toEqual({ code: 0, stdout: '你好\n', stderr: '' });
  expect(service.requests[0]?.body.includes(wav)).toBe(true);
});

test.skipIf(!existsSync('/dev/full'))('a text that cannot be written (a full disk) is no success', () => {
  const full = openSync('/dev/full', 'w');
  const ended = spawnSync(process.execPath, [CLI, '--version'], {
    stdio: ['ignore', full],
    encoding: 'utf8',
  });
  closeSync(full);
  expect(ended.stderr).toContain('standard output cannot be written: ENOSPC');
  expect(ended.status).toBe(2);
});

test('a reader of the texts that has seen enough (| head -1) ends it without a complaint', async () => {
  service.http = [json(200, RESULT)];
  const child = start(['transcribe', good, good]);
  child.stdout.destroy();
  const closed = once(child, 'close');
  expect(await text(child.stderr)).toBe('');
  expect((await closed)[0]).toBe(0);
  expect(service.requests).toHaveLength(1);
});

test('messages that nobody reads any more end nothing: the next file still has its text', async () => {
  service.http = [json(200, RESULT)];
  const child = start(['transcribe', join(folder, 'missing.wav'), good]);
  child.stderr.destroy();
  const closed = once(child, 'close');
  expect(await text(child.stdout)).toBe(`${good}: 你好\n`);
  expect((await closed)[0]).toBe(1);
});

test('a file of a CD, which the service refuses as too large, is converted', async () => {
  service.http = [json(200, RESULT)];
  const seconds = 3.9;
  const cd = wavFile(Buffer.alloc(44_100 * seconds * 4, 1), { sampleRateHz: 44_100, channels: 2 });
  expect(cd.length).toBeGreaterThan(484_096);
  expect(await run(['transcribe', file('cd.wav', cd)])).toEqual({ code: 0, stdout: '你好\n', stderr: '' });
  const sent = service.requests[0]?.body.length ?? 0;
  expect(sent - seconds * 32_000).toBeGreaterThan(0);
  expect(sent - seconds * 32_000).toBeLessThan(500);
});

test('standard input', async () => {
  service.http = [json(200, RESULT)];
  const wav = wavFile(Buffer.alloc(640, 3));
  expect(await run(['transcribe', '-'], {}, wav)).toMatchObject({ code: 0, stdout: '你好\n' });
  expect(service.requests[0]?.body.includes(wav)).toBe(true);
  expect(await run(['transcribe', '-'], {}, Buffer.alloc(0))).toMatchObject({ code: 1 });
});

test('ready: in words, as JSON, with exit codes', async () => {
  service.http = [json(200, { status: 'ready', busy: false })];
  expect(await run(['ready'])).toEqual({ code: 0, stdout: 'ready\n', stderr: '' });
  service.http = [json(503, { status: 'loading', busy: false, error: 'ModelError' })];
  expect(await run(['ready', '--json'])).toEqual({
    code: 4,
    stdout: '{"status":"loading","busy":false,"error":"ModelError"}\n',
    stderr: '',
  });
  service.http = [json(401, { error: 'unauthorized', message: 'the token\u001b is wrong' })];
  expect(await run(['ready'])).toMatchObject({
    code: 3,
    stderr: 'asr-client: the token\\u{1b} is wrong\n',
  });
});
