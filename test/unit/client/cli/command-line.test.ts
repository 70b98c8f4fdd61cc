import { expect, test } from 'vitest';
import { parseCommandLine } from '../../../../client/cli/command-line.ts';
import { exitCodeOf, UsageError } from '../../../../client/cli/exit-codes.ts';
import { askReady } from '../../../../client/cli/ready.ts';
import { Report } from '../../../../client/cli/report.ts';
import { StatusLine } from '../../../../client/cli/status-line.ts';
import { readToken } from '../../../../client/cli/token.ts';
import { AsrClient, AsrError, type AsrErrorCode } from '../../../../client/node.ts';

test.for([
  { args: ['transcribe', '--token', 'secret', 'a.wav'], says: 'use ASR_API_TOKEN or --token-file' },
  { args: ['ready', '--api-token=secret'], says: 'use ASR_API_TOKEN or --token-file' },
  { args: ['transcribe', '--token=secret', 'a.wav'], says: 'use ASR_API_TOKEN or --token-file' },
  { args: ['transcribe'], says: 'at least one FILE' },
  { args: ['transcribe', '-', '-'], says: 'only once' },
  { args: ['transcribe', '--attempts', '0', 'a.wav'], says: '--attempts must be a whole number from 1' },
  { args: ['transcribe', '--attempts', '1001', 'a.wav'], says: 'from 1 to 1000, not "1001"' },
  { args: ['transcribe', '--attempts', '1e2', 'a.wav'], says: 'a whole number from 1 to 1000, not "1e2"' },
  { args: ['ready', '--wait', '86401'], says: '--wait must be a whole number from 0 to 86400' },
  { args: ['ready', '--wait', ''], says: 'not ""' },
  { args: ['transcribe', '--fast', 'a.wav'], says: '--fast' },
  { args: ['ready', '--stream'], says: 'ready has no option --stream' },
  { args: ['ready', 'a.wav'], says: 'ready takes no file' },
  { args: ['transcribe', '--wait', '5', 'a.wav'], says: 'transcribe has no option --wait' },
  { args: ['listen'], says: 'unknown command "listen"' },
])('asr-client $args: a clear usage error', ({ args, says }) => {
  expect(() => parseCommandLine(args, {})).toThrow(says);
  expect(() => parseCommandLine(args, {})).toThrow(UsageError);
});

test('the limits of the numbers are taken; unless told otherwise there are 8 attempts, and ready asks once', () => {
  const parsed = (...args: string[]) => parseCommandLine(args, {});
  for (const attempts of [1, 1_000])
    expect(parsed('transcribe', '--attempts', `${attempts}`, 'a.wav')).toMatchObject({ attempts });
  for (const seconds of [0, 86_400])
    expect(parsed('ready', '--wait', `${seconds}`)).toMatchObject({ waitMs: 1_000 * seconds });
  expect(parsed('transcribe', 'a.wav')).toMatchObject({ attempts: 8, stream: false, json: false });
  expect(parsed('ready')).toMatchObject({ waitMs: 0 });
});

test('address: --url, else ASR_URL, else this machine', () => {
  const url = (args: string[], env: Record<string, string>) => parseCommandLine(['ready', ...args], env);
  expect(url(['--url', 'http://a'], { ASR_URL: 'http://b' })).toMatchObject({ url: 'http://a' });
  expect(url([], { ASR_URL: 'http://b' })).toMatchObject({ url: 'http://b' });
  expect(url([], { ASR_URL: '' })).toMatchObject({ url: 'http://127.0.0.1:8088' });
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
  line.show('a/long/path/to/a.wav  ', '今天');
  expect(written).toBe('\r\u001b[K…ath/to/a.wav  今天');
  written = '';
  new StatusLine({ isTTY: false, columns: 0, write } as never).show('a', 'b');
  expect(written).toBe('');
});

test('blanks around the token of the environment are no part of it, as the service has it', async () => {
  expect(await readToken(undefined, { ASR_API_TOKEN: ' a-token\r\n' })).toBe('a-token');
  await expect(readToken(undefined, { ASR_API_TOKEN: ' \r' })).rejects.toThrow(
    new UsageError('no token: set ASR_API_TOKEN or give --token-file FILE'),
  );
});

test.for<{ code: number; of: AsrErrorCode[] }>([
  {
    code: 1,
    of: [
      'invalid_format',
      'empty_audio',
      'audio_too_long',
      'upload_too_large',
      'invalid_form',
      'invalid_message',
      'invalid_sequence',
      'invalid_frame',
      'inference_failed',
    ],
  },
  { code: 3, of: ['unauthorized', 'forbidden'] },
  { code: 4, of: ['busy', 'not_ready'] },
  {
    code: 5,
    of: ['timeout', 'overloaded', 'network', 'unavailable', 'no_answer', 'unexpected_response'],
  },
])('exit code $code, as the help says it: $of', ({ code, of }) => {
  for (const error of of) expect([error, exitCodeOf(new AsrError(error, ''))]).toEqual([error, code]);
});

/** A terminal of 80 columns, and what is written to it. */
function terminal() {
  const said = { stdout: '', stderr: '' };
  const into = (stream: keyof typeof said) => (piece: unknown) => {
    said[stream] += piece;
    return true;
  };
  const stderr = { isTTY: true, columns: 80, write: into('stderr') };
  return { said, output: { stdout: { write: into('stdout') }, stderr } };
}

test('in a terminal: what goes on stands in one line, which makes room for the result, and nobody else steers it', () => {
  const { said, output } = terminal();
  const report = new Report(output, false, 2);
  report.progress('a\u001b.wav', 1, 'reading');
  expect(said.stderr).toBe('\r\u001b[K[1/2] a .wav  reading');
  report.partial('a.wav', 1, { revision: 1, text: '今\u001b[2J' });
  expect(said.stderr.endsWith('\r\u001b[K[1/2] a.wav  今 [2J')).toBe(true);
  report.partial('a\u202evaw.wav', 1, { revision: 2, text: '今\u2066天' });
  expect(said.stderr.endsWith('\r\u001b[K[1/2] a vaw.wav  今 天')).toBe(true);
  report.result('a\u001b.wav', { text: '今天', audio_ms: 100, inference_ms: 1 });
  expect(said.stderr.endsWith('\r\u001b[K')).toBe(true);
  said.stderr = '';
  report.failure('b\u001b[2J.wav', new AsrError('invalid_format', 'no\u001b\nWAV'));
  report.failure('c.wav', new Error('gone'));
  report.notTried(0);
  expect(said.stdout).toBe('a .wav: 今天\n');
  expect(said.stderr).toBe(
    'asr-client: b [2J.wav: no WAV [invalid_format]\nasr-client: c.wav: gone [unreadable]\n',
  );
});

test.for([
  { answer: { status: 'ready', busy: true }, code: 0, says: 'ready, busy with a recording\n' },
  {
    answer: { status: 'loading', busy: false, error: 'Model\u001bError' },
    code: 4,
    says: 'loading; the last attempt failed: Model Error\n',
  },
] as const)('ready says $says', async ({ answer, code, says }) => {
  const client = new AsrClient({ url: 'http://asr.example', apiToken: 'a-token' });
  client.ready = async () => answer;
  const { said, output } = terminal();
  const { signal } = new AbortController();
  expect(await askReady({ client, waitMs: 0, json: false, output, signal })).toBe(code);
  expect(said.stdout).toBe(says);
});

test('ready --wait gives one question 10 s at most: a connection may be dead, and the next one not', async () => {
  const client = new AsrClient({ url: 'http://asr.example', apiToken: 'a-token' });
  const limitsMs: (number | undefined)[] = [];
  client.ready = async ({ timeoutMs } = {}) => {
    limitsMs.push(timeoutMs);
    return { status: 'ready', busy: false };
  };
  const { signal } = new AbortController();
  await askReady({ client, waitMs: 60_000, json: false, output: terminal().output, signal });
  expect(limitsMs).toEqual([10_000]);
});
