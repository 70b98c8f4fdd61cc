import { expect, test } from 'vitest';
import { createLogger } from '../../../../common/process/log.ts';

test('token, text, audio and what a failed command carried are in no line, also where they slip into one', () => {
  const lines: string[] = [];
  const log = createLogger('info', 'api', { write: (line) => void lines.push(line) });
  const secrets = { authorization: 'Bearer SECRET', api_token: 'SECRET', text: 'SECRET', pcm: 'SECRET' };
  const err = Object.assign(new Error('refused'), { command: { name: 'auth', args: ['SECRET'] } });
  log.info({ ...secrets, message: secrets, req: { headers: secrets }, err }, 'a line');
  log.info({ err: Object.assign(new Error('no node'), { lastNodeError: err }) }, 'of a Cluster');
  const line = expect.stringContaining('"name":"auth"');
  expect(lines).toEqual([line, line]);
  expect(lines.join('')).not.toContain('SECRET');
});

test.each(['0123456789abcdef', '0123"4567\\89abcdef'])(
  'the token %s is in no line, whatever it came as',
  (token) => {
    const lines: string[] = [];
    const log = createLogger('info', 'api', { write: (line) => void lines.push(line) }, token);
    log.child({ reason: `https://${token}.example` }).info(`GET /${token}/${token}`);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ reason: 'https://[redacted].example', msg: 'GET /[redacted]/[redacted]' }),
    ]);
  },
);

test('of a command that Redis does not have, the arguments that it repeats are in no line', () => {
  const lines: string[] = [];
  const log = createLogger('info', 'api', { write: (line) => void lines.push(line) });
  const answer = String.raw`ERR unknown command 'auth', with args beginning with: 'me' 'SEC"RET\'`;
  log.info({ error: answer, err: new Error(answer), more: 1 }, 'refused');
  const said = expect.stringMatching(/^ERR unknown command 'auth', with args beginning with: \[redacted\]/);
  const stack = expect.stringMatching(/: \[redacted\]\n {4}at .*log\.test\.ts/);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ error: said, err: { type: 'Error', message: said, stack }, more: 1 }),
  ]);
  expect(lines.join('')).not.toMatch(/me'|SEC|RET/);
});
