import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { startOrphanWatch } from '../../../../launch/supervisor/orphan-watch.ts';
import { testFolder } from '../../../support/machine/folders.ts';

const MODULE = pathToFileURL(join(packageRoot(), 'dist/launch/supervisor/orphan-watch.js')).href;

test('of a supervisor that was killed, Redis ends five seconds later', async () => {
  const bin = testFolder();
  // It sleeps no time, and says for how long it was to.
  const slept = join(bin, 'slept');
  writeFileSync(join(bin, 'sleep'), `#!/bin/sh\necho "$1" >> '${slept}'\n`);
  chmodSync(join(bin, 'sleep'), 0o755);
  const redis = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  onTestFinished(() => void redis.kill('SIGKILL'));
  const ended = once(redis, 'exit');
  const script = `
    import { startOrphanWatch } from "${MODULE}";
    const watch = startOrphanWatch();
    watch.update(${redis.pid});
    setImmediate(() => console.log('told'));`;
  const supervisor = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: `${bin}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(supervisor.stdout, 'data');
  supervisor.kill('SIGKILL');
  expect((await ended)[1]).toBe('SIGKILL');
  expect(readFileSync(slept, 'utf8')).toBe('5\n');
});

test('it ends at once when there is no Redis any more', async () => {
  const watch = startOrphanWatch();
  watch.update(2 ** 30);
  watch.update(undefined);
  await watch.close();
}, 4_000);
