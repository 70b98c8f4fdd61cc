import { expect, onTestFinished, test } from 'vitest';
import { tooOld, versionWarning } from '../../../common/redis-version.ts';
import { startRedis } from '../../support/redis.ts';

const info = (version: string): string => `# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n`;

test.each(['5.0.14', '6.0.16', '6.1.240'])(
  'Redis %s is too old, and the line says what is needed',
  (version) => {
    expect(tooOld(info(version))).toMatch(new RegExp(`${version}: .* 6\\.2 or newer`));
  },
);
test.each(['6.2.0', '7.0.15', '8.10.1', '255.255.255', '10.0.0'])('Redis %s is not', (version) => {
  expect(tooOld(info(version))).toBeUndefined();
});
test('one that does not say is not warned about', () => {
  expect(tooOld('')).toBeUndefined();
});
test('Redis is asked for it where it says it', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  expect(await versionWarning(redis.client)).toBeUndefined();
  expect(await versionWarning(redis.client, [99, 0])).toMatch(
    /^this Redis is \d+\.\d+\S*: .* 99\.0 or newer$/,
  );
});
