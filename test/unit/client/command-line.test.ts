import { expect, test } from 'vitest';
import { parseCommandLine } from '../../../api/client/cli/command-line.ts';
import { UsageError } from '../../../api/client/cli/exit-codes.ts';
import { StatusLine } from '../../../api/client/cli/status-line.ts';
import { readToken } from '../../../api/client/cli/token.ts';

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
