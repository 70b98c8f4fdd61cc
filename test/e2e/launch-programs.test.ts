import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SmallProject } from './small-project.ts';

/** The programs of this machine that commands need. */
let project: SmallProject;

beforeEach(async () => {
  project = await SmallProject.create();
  await project.installAtOnce();
});

afterEach(() => project.tidy());

test('no redis-server, and none to be had: one line that says what to do; with REDIS_URL none is wanted', async () => {
  await project.write(
    'vendor/typescript/bin/tsc',
    `require('node:fs').mkdirSync('dist/common/launch', { recursive: true });
    require('node:fs').writeFileSync('dist/common/launch/start.js', "console.log('started', process.env.PATH)");`,
  );
  const none = `
    import fs from 'node:fs';
    const { accessSync } = fs;
    fs.accessSync = (path, mode) => {
      if (path.endsWith('/redis-server')) throw new Error('not here');
      return accessSync(path, mode);
    };
    process.getuid = () => 1_000;
    (await import('node:module')).syncBuiltinESMExports();`;
  project.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(none)}`;
  project.env['REDIS_URL'] = ' ';
  const without = project.setup('start');
  expect(await without.ended).toBe(1);
  expect(without.lines.at(-1)).toMatch(
    /^redis-server was not found: .*install.*\. Without it: `npm start` also works .* REDIS_URL/,
  );
  expect(without.lines.join()).not.toMatch(/started|for the whole machine/);
  project.env['REDIS_URL'] = 'redis://127.0.0.1:6379';
  const launched = project.setup('start');
  expect(await launched.ended).toBe(0);
  expect(launched.lines).toEqual([`started ${project.env['PATH']}`]);
  // What is there, and not on PATH, the program finds all the same.
  Object.assign(project.env, { NODE_OPTIONS: '', REDIS_URL: '', PATH: '/no/such/folder' });
  const elsewhere = project.setup('start');
  expect(await elsewhere.ended).toBe(0);
  expect(elsewhere.lines).toEqual([expect.stringMatching(/^started \/no\/such\/folder:\/[\w/]+$/)]);
});

/** A machine without Redis and browsers, whose apt-get brings them into the project's bin, or fails; apt-cache knows the packages of `known`. */
async function withAptGet(ending: number, known: string): Promise<void> {
  const none = `
    import fs from 'node:fs';
    const { accessSync } = fs;
    fs.accessSync = (path, mode) => {
      const isOfMachine = !path.startsWith('${project.folder}');
      if (isOfMachine && /redis-server$|chrom/i.test(path)) throw new Error('not here');
      return accessSync(path, mode);
    };
    process.getuid = () => 0;
    (await import('node:module')).syncBuiltinESMExports();`;
  project.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(none)}`;
  const bin = join(project.folder, 'bin');
  const install = `for one; do case $one in redis-server|chromium*) cp bin/npm bin/$one;; esac; done`;
  const aptGet = `#!/bin/sh\necho "the words of $1"; [ ${ending} = 0 ] || exit ${ending}\n${install}\n`;
  await writeFile(join(bin, 'apt-get'), aptGet, { mode: 0o755 });
  await writeFile(join(bin, 'apt-cache'), `#!/bin/sh\n[ "$2" = "${known}" ]\n`, { mode: 0o755 });
  await mkdir(join(project.folder, 'node_modules/vitest'), { recursive: true });
  await project.write('node_modules/vitest/vitest.mjs', 'console.log(process.env.CHROMIUM_PATH);');
}

test.each([
  ['chromium-headless-shell', 'chromium-headless-shell'],
  ['something else', 'chromium'],
])('what is missing comes from apt-get; of a system that has the package %s, %s', async (known, browser) => {
  await withAptGet(0, known);
  const launched = project.setup('test');
  expect(await launched.ended).toBe(0);
  expect(launched.lines.slice(-3)).toEqual([
    'installing redis-server, chromium with apt-get, for the whole machine ...',
    `installed redis-server, ${browser}`,
    join(project.folder, 'bin', browser),
  ]);
});

test('an apt-get that fails: its words, and what to do', async () => {
  await withAptGet(100, 'something else');
  const launched = project.setup('test');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.slice(-4)).toEqual([
    'the words of update',
    'the words of install',
    'apt-get failed (exit code 100)',
    expect.stringMatching(/^redis-server was not found: install it with "sudo apt-get install redis-server"/),
  ]);
});

test('a browser that CHROMIUM_PATH names is taken, and missed where it is not there', async () => {
  await withAptGet(0, 'something else');
  project.env['CHROMIUM_PATH'] = process.execPath;
  const launched = project.setup('test');
  expect(await launched.ended).toBe(0);
  expect(launched.lines.at(-1)).toBe(process.execPath);
  project.env['CHROMIUM_PATH'] = '/no/such/browser';
  const without = project.setup('test');
  expect(await without.ended).toBe(0);
  // Nor is one installed, which would be somewhere else.
  expect(without.lines).toEqual([
    expect.stringMatching(
      /^CHROMIUM_PATH="\/no\/such\/browser": .* correct it.* Without it: the tests of .* will fail/,
    ),
    '/no/such/browser',
  ]);
  project.env['CHROMIUM_PATH'] = '';
  const unnamed = project.setup('test');
  expect(await unnamed.ended).toBe(0);
  expect(unnamed.lines.at(-1)).toBe(join(project.folder, 'bin/chromium'));
});
