import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('..', import.meta.url));

/** `npm run test:unit`, and unit files by name, need no Redis, and so do not look for one. */
const named = process.argv.filter(
  (argument) => argument.startsWith('test/') && argument !== 'test/vitest.config.ts',
);
const unitOnly = named.length > 0 && named.every((path) => path.startsWith('test/unit'));

export default defineConfig({
  root,
  test: {
    include: ['test/**/*.test.ts'],
    // What they need is not everywhere: npm run test:docker, npm run test:operate, npm run test:examples.
    exclude: ['test/docker/**', 'test/operate/**', 'test/examples/**'],
    globalSetup: ['test/support/tools/build.ts', ...(unitOnly ? [] : ['test/support/redis/choose-redis.ts'])],
    pool: 'forks',
    // No module keeps a state of its own, so that what one file has loaded serves the next.
    isolate: false,
    // Two cores in CI, which are idle for a third of the time with two workers, and for a quarter of it with three.
    maxWorkers: 4,
    // Concurrent tests of one file mostly wait: for a heartbeat's end, for a process.
    maxConcurrency: 15,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // For waits that are no bound of their own: the default, a second, is what a busy machine may take to wake a process.
    expect: { poll: { timeout: 10_000, interval: 20 } },
    retry: 0,
    // The service sets it for itself; some tests use onnxruntime without the service.
    env: { ORT_DISABLE_TELEMETRY: '1' },
  },
});
