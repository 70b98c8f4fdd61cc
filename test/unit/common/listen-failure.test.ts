import { expect, test } from 'vitest';
import { ConfigError } from '../../../common/config.ts';
import { listenFailure } from '../../../common/listen-failure.ts';

const taken = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });

test.each([
  [8_088, 'ASR_PORT=8089'],
  [65_535, 'ASR_PORT=65534'],
])('who finds port %i taken is told of another one that there is', (port, advice) => {
  const failure = listenFailure(taken, '127.0.0.1', port);
  expect(failure).toBeInstanceOf(ConfigError);
  expect(String(failure)).toContain(`e.g. ${advice}`);
  expect(String(failure)).not.toContain('65536');
});
