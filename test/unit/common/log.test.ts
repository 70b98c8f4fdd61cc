import { expect, test } from 'vitest';
import { createLogger } from '../../../common/log.ts';

test('token, text, audio and what a failed command carried are in no line, also where they slip into one', () => {
  const lines: string[] = [];
  const log = createLogger('info', 'api', { write: (line) => void lines.push(line) });
  const secrets = { authorization: 'Bearer SECRET', api_token: 'SECRET', text: 'SECRET', pcm: 'SECRET' };
  const err = Object.assign(new Error('refused'), { command: { name: 'auth', args: ['SECRET'] } });
  log.info({ ...secrets, message: secrets, req: { headers: secrets }, err }, 'a line');
  expect(lines).toEqual([expect.stringContaining('"name":"auth"')]);
  expect(lines.join('')).not.toContain('SECRET');
});
