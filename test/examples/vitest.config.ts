import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** `npm run test:examples`: runs what the pages show. Much of it needs programs of others, so it is no part of `npm test`. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/examples/**/*.test.ts'],
    globalSetup: ['test/support/tools/build.ts'],
    // It prints why a test was skipped.
    reporters: ['verbose'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
