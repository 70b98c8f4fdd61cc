import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** `npm run test:docker`: what needs a Docker engine with Compose, and so is no part of `npm test`. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/docker/**/*.test.ts'],
    globalSetup: ['test/support/tools/build.ts'],
    testTimeout: 60_000,
    hookTimeout: 600_000,
    // The tests of a file are one story of one deployment, which has the machine for itself: a model that is
    // too slow is "overloaded".
    fileParallelism: false,
    bail: 1,
    retry: 0,
  },
});
