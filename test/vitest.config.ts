import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('..', import.meta.url));

export default defineConfig({
  root,
  test: {
    include: ['test/**/*.test.ts'],
    // They need a Docker engine: npm run test:docker.
    exclude: ['test/docker/**'],
    globalSetup: ['test/support/build.ts'],
    pool: 'forks',
    // Two cores in CI; the processes that the tests start need room as well.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    retry: 0,
  },
});
