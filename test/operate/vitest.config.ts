import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/**
 * `npm run test:operate`: the files of deploy/, each in the program it is for. They need programs that the
 * service does not, and so are no part of `npm test`.
 */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/operate/**/*.test.ts'],
    // Where Debian puts nginx and haproxy, which is not on every user's PATH.
    env: { PATH: `${process.env['PATH']}:/usr/sbin` },
    globalSetup: ['test/support/tools/build.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
