import { expect, test, vi } from 'vitest';
import { parseCommandLine } from '../../../../client/cli/command-line.ts';
import { UsageError } from '../../../../client/cli/exit-codes.ts';
import { askReady } from '../../../../client/cli/ready.ts';
import { Report } from '../../../../client/cli/report.ts';
import { readToken } from '../../../../client/cli/token.ts';
import { AsrClient, AsrError } from '../../../../client/node.ts';

test.for([
  { args: ['transcribe', '--token', 'secret', 'a.wav'], says: 'use ASR_API_TOKEN or --token-file' },
  { args: ['ready', '--api-token=secret'], says: 'use ASR_API_TOKEN or --token-file' },
  { args: ['transcribe', '--token=secret', 'a.wav'], says: 'use ASR_API_TOKEN or --token-file' },
  { args: ['transcribe'], says: 'at least one FILE' },
  { args: ['transcribe', '-', '-'], says: 'only once' },
  { args: ['transcribe', '--attempts', '0', 'a.wav'], says: '--attempts must be a whole number from 1' },
  { args: ['transcribe', '--attempts', '1e2', 'a.wav'], says: 'a whole number from 1 on, not "1e2"' },
  {
    args: ['transcribe', '--patience', 'long', 'a.wav'],
    says: '--patience must be a number of seconds, not "long"',
  },
  { args: ['transcribe', '--fast', 'a.wav'], says: '--fast' },
  { args: ['transcribe', '--format', 'ass', 'a.wav'], says: '--format is text, json, srt or vtt, not "ass"' },
  { args: ['transcribe', '--json', '--format', 'srt', 'a.wav'], says: '--json and --format srt contradict' },
  { args: ['transcribe', '--format', 'vtt', 'a.wav', 'b.wav'], says: '--format vtt takes one FILE' },
  { args: ['ready', '--stream'], says: 'ready has no option --stream' },
  { args: ['ready', 'a.wav'], says: 'ready takes no file' },
  { args: ['listen'], says: 'unknown command "listen"' },
])('asr-client $args: a clear usage error', ({ args, says }) => {
  expect(() => parseCommandLine(args, {})).toThrow(says);
  expect(() => parseCommandLine(args, {})).toThrow(UsageError);
});

test('how long and how often it tries, and the gap of a batch', () => {
  const parsed = (...args: string[]) => parseCommandLine(args, {});
  expect(parsed('transcribe', '--attempts', '1', 'a.wav')).toMatchObject({ attempts: 1 });
  expect(parsed('transcribe', 'a.wav')).toMatchObject({
    ...{ attempts: undefined, patienceMs: 120_000, gapMs: 1_500, stream: false, format: 'text' },
  });
  expect(parsed('transcribe', '--patience', '0', '--gap', '0.5', 'a.wav')).toMatchObject({
    ...{ patienceMs: 0, gapMs: 500 },
  });
});

test('the format, and --json, which is one of them', () => {
  const parsed = (...args: string[]) => parseCommandLine(['transcribe', ...args, 'a.wav'], {});
  expect(parsed('--format', 'srt')).toMatchObject({ format: 'srt' });
  for (const args of [['--json'], ['--format', 'json'], ['--json', '--format', 'json']])
    expect(parsed(...args)).toMatchObject({ format: 'json' });
});

test('address: --url, else ASR_URL, else this machine', () => {
  const url = (args: string[], env: Record<string, string>) => parseCommandLine(['ready', ...args], env);
  expect(url(['--url', 'http://a'], { ASR_URL: 'http://b' })).toMatchObject({ url: 'http://a' });
  expect(url([], { ASR_URL: 'http://b' })).toMatchObject({ url: 'http://b' });
  expect(url([], { ASR_URL: '' })).toMatchObject({ url: 'http://127.0.0.1:8088' });
});

test('blanks around the token of the environment are no part of it, as the service has it', async () => {
  expect(await readToken(undefined, { ASR_API_TOKEN: ' a-token\r\n' })).toBe('a-token');
  await expect(readToken(undefined, { ASR_API_TOKEN: '"a-token"' })).rejects.toThrow('stands in quotes');
  await expect(readToken(undefined, { ASR_API_TOKEN: ' \r' })).rejects.toThrow(
    new UsageError('no token: set ASR_API_TOKEN or give --token-file FILE'),
  );
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
  const report = new Report(output, { format: 'text', stream: true, count: 2 });
  report.begin('a\u001b.wav');
  report.listening();
  expect(said.stderr).toBe('\r\u001b[Ka\\u{1b}.wav: listening');
  report.begin('a\u202evaw.wav');
  report.partial('今\u001b[2J');
  expect(said.stderr.endsWith('\r\u001b[Ka\\u{202e}vaw.wav: 今\\u{1b}[2J')).toBe(true);
  report.begin('a.wav');
  // In 80 columns there is room for 39 Chinese characters; the newest of a longer text are shown.
  report.partial(`${'今'.repeat(40)}天`);
  expect(said.stderr.endsWith(`\r\u001b[K…${'今'.repeat(37)}天`)).toBe(true);
  report.begin('a\u001b.wav');
  report.piece({ text: '今天', start_ms: 0, end_ms: 100 }, 100);
  expect(said.stderr.endsWith('\r\u001b[K')).toBe(true);
  said.stderr = '';
  report.begin('b\u001b[2J.wav');
  report.failure(new AsrError('invalid_format', 'no\u001b\nWAV'), undefined);
  report.begin('c.wav');
  report.failure(new Error('gone'), undefined);
  report.notTried(0);
  expect(said.stdout).toBe('a\\u{1b}.wav: 今天\n');
  expect(said.stderr).toBe(
    'asr-client: b\\u{1b}[2J.wav: no\\u{1b}\\u{a}WAV [invalid_format]\nasr-client: c.wav: gone [unreadable]\n',
  );
});

test('progress: in a terminal a line that is written over, elsewhere a line a minute', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const { said, output } = terminal();
    const report = new Report(output, { format: 'text', stream: false, count: 1 });
    const recognized = (positionMs: number, elapsedMs: number): void => {
      vi.advanceTimersByTime(elapsedMs);
      report.piece({ text: '', start_ms: 0, end_ms: 100 }, positionMs);
    };
    report.begin('a.wav');
    report.lengthMs = 3_723_000;
    recognized(124_100, 10_000);
    expect(said.stderr).toBe('\r\u001b[K2:04 of 1:02:03, 4:50 left');
    report.end();
    output.stderr.isTTY = false;
    report.begin('a.wav');
    report.lengthMs = undefined;
    said.stderr = '';
    for (const position of [1, 2, 3, 4]) recognized(position * 60_000, 30_000);
    expect(said.stderr).toBe('asr-client: a.wav: 2:00 recognized\nasr-client: a.wav: 4:00 recognized\n');
  } finally {
    vi.useRealTimers();
  }
});

test('a recording without a word is a line, too', () => {
  const { said, output } = terminal();
  const report = new Report(output, { format: 'text', stream: false, count: 2 });
  report.begin('a.wav');
  report.piece({ text: '', start_ms: 0, end_ms: 100 }, 100);
  report.result({ text: '', audio_ms: 100, inference_ms: 1, pieces: [] });
  expect(said.stdout).toBe('a.wav: \n');
});

test.for([
  { answer: { status: 'ready', busy: true }, code: 0, says: 'ready, busy with a recording\n' },
  {
    answer: { status: 'loading', busy: false, error: 'Model\u001bError' },
    code: 4,
    says: 'loading; the last attempt failed: Model\\u{1b}Error\n',
  },
] as const)('ready says $says', async ({ answer, code, says }) => {
  const client = new AsrClient({ url: 'http://asr.example', apiToken: 'a-token' });
  client.ready = async () => answer;
  const { said, output } = terminal();
  const { signal } = new AbortController();
  expect(await askReady(client, false, output, signal)).toBe(code);
  expect(said.stdout).toBe(says);
});
