import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { localOrigin } from '../../../../common/config/addresses.ts';
import { createLogger } from '../../../../common/process/log.ts';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { announcement, type Service } from '../../../../launch/supervisor/announcement.ts';
import { plainLogLine } from '../../../../launch/supervisor/log-lines.ts';
import { CATALOGUE } from '../../../../models/catalogue.ts';

test.each([
  ['127.0.0.1', 'http://127.0.0.1:8088'],
  ['0.0.0.0', 'http://127.0.0.1:8088'],
  ['::', 'http://[::1]:8088'],
  ['fd00::1', 'http://[fd00::1]:8088'],
  ['asr.example', 'http://asr.example:8088'],
])('a server that listens on %s is reached at %s', (host, origin) => {
  expect(localOrigin(host, 8_088)).toBe(origin);
});

const SERVICE: Service = {
  origin: 'http://127.0.0.1:8088',
  page: 'http://127.0.0.1:8088/',
  token: 'a-new-token',
  tokenIsNew: true,
  tokenFile: undefined,
  model: 'bundled',
  behindProxy: false,
};

/**
 * What curl would get from a shell that runs the line; with failglob, because a pattern that matches no file
 * is an error in zsh.
 */
function argumentsOfCurl(text: string, env: Record<string, string> = {}): string[] {
  const line = text.slice(text.indexOf('curl ')).split('\n')[0] ?? '';
  const script = `curl() { printf '%s\\n' "$@"; }; ${line}`;
  return execFileSync('bash', ['--norc', '-O', 'failglob', '-c', script], { env, encoding: 'utf8' })
    .trimEnd()
    .split('\n');
}

test('the curl line survives a shell and curl, whatever the folder is called', () => {
  const service = { ...SERVICE, token: "it's-$a-`token`" };
  expect(argumentsOfCurl(announcement(service, `/home/a b's; "$x", 语音`))).toEqual([
    '-H',
    "Authorization: Bearer it's-$a-`token`",
    '-F',
    expect.stringMatching(/^file=@"\/home\/a b's; \\"\$x\\", 语音\/test\/fixtures\/[\w/-]+\.wav"$/),
    'http://127.0.0.1:8088/v1/audio/transcriptions',
  ]);
});

test('the curl line survives a shell that knows patterns where the address is of IPv6', () => {
  const text = announcement({ ...SERVICE, origin: 'http://[::1]:8088' }, '/srv/asr');
  expect(argumentsOfCurl(text).at(-1)).toBe('http://[::1]:8088/v1/audio/transcriptions');
});

test('behind a proxy the curl line goes past it', () => {
  const [option, hosts, ...rest] = argumentsOfCurl(
    announcement({ ...SERVICE, behindProxy: true }, '/srv/asr'),
  );
  expect([option, hosts]).toEqual(['--noproxy', '*']);
  expect(rest).toEqual(argumentsOfCurl(announcement(SERVICE, '/srv/asr')));
});

test('a token in .env, which no other shell has read, is read by the pasted line', () => {
  const folder = mkdtempSync(join(tmpdir(), "it's asr-"));
  const tokenFile = join(folder, '.env');
  writeFileSync(tokenFile, 'ASR_API_TOKEN="the-operators-token"\n');
  const text = announcement({ ...SERVICE, tokenIsNew: false, tokenFile }, '/srv/asr');
  expect(text).toContain(`token    the one in ${tokenFile}\n`);
  const line = /try it +(.*)/.exec(text)?.[1];
  const script = `curl() { printf '%s\\n' "$@"; }; ${line}`;
  const said = execFileSync('sh', ['-c', script], { env: {}, encoding: 'utf8' });
  expect(said).toContain('Authorization: Bearer the-operators-token\n');
  rmSync(folder, { recursive: true });
});

test('with ASR_PUBLIC_BASE_URL the page is there', () => {
  const text = announcement({ ...SERVICE, page: 'https://asr.example.com/' }, '/srv/asr');
  expect(text).toContain('page     https://asr.example.com/\n');
});

test("the operator's own token is not printed; the curl line takes it from the environment", () => {
  const token = 'the-operators-token';
  const text = announcement({ ...SERVICE, token, tokenIsNew: false }, '/srv/asr');
  expect(text).not.toContain(token);
  expect(argumentsOfCurl(text, { ASR_API_TOKEN: token })[1]).toBe(`Authorization: Bearer ${token}`);
});

const modelLine = (model: string): string | undefined =>
  /^ {2}model {4}(.*)$/m.exec(announcement({ ...SERVICE, model }, '/srv/asr'))?.[1];

test('who runs the bundled model is told its error rate and the commands for the recommended one, in one line', () => {
  const [recommended] = CATALOGUE.filter(({ recommended }) => recommended);
  const commands = `npm run models -- pull ${recommended?.id} && ASR_MODEL=${recommended?.id} npm start`;
  const line = modelLine('bundled');
  expect(line).toMatch(/^bundled \(Whisper base, MIT\): 9\.7 % of the characters wrong on 82 recordings of /);
  expect(line).toMatch(new RegExp(`: ${commands}$`));
});

test.each(['zipformer-small-ctc', '../my models/new', '/srv/models/x'])(
  'of another model its name as it was given is said, and nothing else: %s',
  (model) => {
    expect(modelLine(model)).toBe(model);
  },
);

test('the recording of the curl line is there', () => {
  const form = argumentsOfCurl(announcement(SERVICE, packageRoot()))[3] ?? '';
  expect(existsSync(/^file=@"(.*)"$/.exec(form)?.[1] ?? '')).toBe(true);
});

test('a log line as a person reads it; one of an error says which process can be signalled', () => {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(...String(chunk).trimEnd().split('\n').map(plainLogLine));
      done();
    },
  });
  const log = createLogger('info', 'api', sink);
  log.info({ status: 200, peer: '127.0.0.1', durationMs: 1.5, list: [1] }, 'request');
  log.warn('a warning');
  log.error({ err: new RangeError('too much') }, 'it failed');
  log.fatal('it ends');
  const [info, warning, error, fatal] = lines;
  expect(info).toMatch(
    /^\d\d:\d\d:\d\d api request status=200 peer=127\.0\.0\.1 durationMs=1\.5 list=\[1\]$/,
  );
  expect(warning).toMatch(/^\d\d:\d\d:\d\d api WARN a warning$/);
  expect(error).toMatch(/ api \(process \d+\) ERROR it failed err=\nRangeError: too much\n\s+at /);
  expect(error).toContain(`(process ${process.pid})`);
  expect(fatal).toMatch(/^\d\d:\d\d:\d\d api \(process \d+\) FATAL it ends$/);
});

test('what an object of a log line holds is shown without JSON', () => {
  const model = { id: 'bundled', family: 'whisper', loadMs: 412 };
  const line = plainLogLine(JSON.stringify({ level: 30, process: 'inference', model, msg: 'model loaded' }));
  expect(line).toBe('inference model loaded model=bundled family=whisper loadMs=412');
});

test('in a terminal, what a newcomer looks for stands out; elsewhere nothing is marked', () => {
  const text = announcement(SERVICE, '/srv/asr', true);
  const [BOLD, NORMAL] = ['\x1b[1m', '\x1b[22m'];
  const bold = text
    .split(BOLD)
    .slice(1)
    .map((rest) => rest.split(NORMAL)[0]);
  expect(bold).toEqual([
    'http://127.0.0.1:8088/',
    'a-new-token',
    expect.stringMatching(/^curl .*transcriptions'$/),
  ]);
  expect(announcement(SERVICE, '/srv/asr', false)).toBe(text.replaceAll(BOLD, '').replaceAll(NORMAL, ''));
});

test('what strangers send steers no terminal and makes no lines', () => {
  const sent = 'x\u009b2J\u001b[31m\u0085\nfake\u202e\u2066';
  const line = plainLogLine(JSON.stringify({ level: 30, process: 'api', msg: sent, sent, nested: [sent] }));
  expect(line).toContain('sent=x\\u{9b}2J\\u{1b}[31m\\u{85}\\u{a}fake\\u{202e}\\u{2066} nested=');
  expect(line).not.toMatch(/[\p{Cc}\u202e\u2066]/u);
  // Of an error only the lines of its stack are lines here.
  const err = { type: 'Error', message: 'x', stack: 'Error: x\u001b[31m\u202e\n    at y' };
  expect(plainLogLine(JSON.stringify({ level: 50, process: 'api', pid: 1, msg: 'failed', err }))).toMatch(
    /failed err=\nError: x\\u\{1b\}\[31m\\u\{202e\}\n {4}at y$/,
  );
});

test.each(['plain text', '{"level":30 cut off', ''])(
  'what is no line of our log stays as it is: "%s"',
  (line) => {
    expect(plainLogLine(line)).toBe(line);
  },
);
