import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { ConfigError } from '../../../../common/config/config-error.ts';
import { listenFailure } from '../../../../common/process/listen-failure.ts';

const failed = (code: string): Error => Object.assign(new Error(`listen ${code}`), { code });
const taken = failed('EADDRINUSE');

test.each([
  [8_088, 'ASR_PORT=8089'],
  [65_535, 'ASR_PORT=65534'],
])('who finds port %i taken is told of another one that there is', (port, advice) => {
  const failure = listenFailure(taken, '127.0.0.1', port);
  expect(failure).toBeInstanceOf(ConfigError);
  expect(String(failure)).toContain(`e.g. ${advice}`);
  expect(String(failure)).not.toContain('65536');
});

test.each([
  ['EACCES', 80, 'ASR_PORT="80": this user may not listen there; choose one from 1024 up'],
  ['EADDRNOTAVAIL', 8_088, 'ASR_HOST="asr.example": this machine has no such address'],
  ['ENOTFOUND', 8_088, 'ASR_HOST="asr.example": this machine has no such address'],
])('%s is a wrong setting, which is named', (code, port, line) => {
  const failure = listenFailure(failed(code), 'asr.example', port);
  expect(failure).toBeInstanceOf(ConfigError);
  expect(String(failure)).toContain(line);
});

test('of the server for metrics, its own settings are named', () => {
  const settings = { host: 'ASR_ADMIN_HOST', port: 'ASR_INFERENCE_ADMIN_PORT' } as const;
  const lineOf = (code: string) => String(listenFailure(failed(code), 'asr.example', 9_464, settings));
  expect(lineOf('EADDRINUSE')).toContain('e.g. ASR_INFERENCE_ADMIN_PORT=9465');
  expect(lineOf('EADDRNOTAVAIL')).toContain('ASR_ADMIN_HOST="asr.example": this machine has no such address');
});

test('an address that no program can listen at is a wrong setting, too', async () => {
  const server = createServer();
  const failed = once(server, 'listening').catch((error: unknown) => listenFailure(error, 'ff02::1', 0));
  server.listen({ host: 'ff02::1', port: 0 });
  const failure = await failed;
  expect(failure).toBeInstanceOf(ConfigError);
  expect(String(failure)).toContain('ASR_HOST="ff02::1": this machine has no such address');
});

test('what is no fault of a setting stays as it is', () => {
  expect(listenFailure(failed('EMFILE'), '127.0.0.1', 8_088)).toMatchObject({ code: 'EMFILE' });
});
