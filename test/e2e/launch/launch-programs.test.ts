import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { INSTALLS, type SmallProject, smallProject } from './small-project.ts';

/** The programs of this machine that commands need. */
let project: SmallProject;

beforeEach(async () => {
  project = await smallProject();
  await project.replaceNpm(INSTALLS);
  await project.write('node_modules/vitest/vitest.mjs', 'console.log(process.env.CHROMIUM_PATH);');
});

/** A machine without Redis and browsers, for this user. */
function withoutPrograms(user: number): void {
  const none = `
    import fs from 'node:fs';
    const { accessSync } = fs;
    fs.accessSync = (path, mode) => {
      const isOfMachine = !path.startsWith('${project.folder}');
      if (isOfMachine && /redis-server$|chrom/i.test(path)) throw new Error('not here');
      return accessSync(path, mode);
    };
    process.getuid = () => ${user};
    (await import('node:module')).syncBuiltinESMExports();`;
  project.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(none)}`;
}

/**
 * Its apt-get brings programs into the project's bin, or fails; its apt-cache knows the packages of `known`.
 */
async function withAptGet(ending: number, known: string): Promise<void> {
  withoutPrograms(0);
  const bin = join(project.folder, 'bin');
  const install = `for one; do case $one in redis-server|chromium*) cp ${bin}/npm ${bin}/$one;; esac; done`;
  const aptGet = `echo "the words of $1" >&2; [ ${ending} = 0 ] || exit ${ending}\n${install}`;
  await project.write('bin/apt-get', `#!/bin/sh\n${aptGet}\n`);
  await project.write('bin/apt-cache', `#!/bin/sh\n[ "$2" = "${known}" ]\n`);
}

test('no redis-server, and none to be had: one line that says what to do; with REDIS_URL none is wanted', async () => {
  withoutPrograms(1_000);
  project.env['REDIS_URL'] = ' ';
  const without = project.setup('start');
  expect(await without.ended).toBe(1);
  expect(without.lines.at(-1)).toMatch(
    /^redis-server was not found: install it, e\.g\. with ".*redis.*"\. Without it: `npm start` also works .* REDIS_URL/,
  );
  const compiler = `require('node:fs').mkdirSync('dist/launch/supervisor', { recursive: true });
    require('node:fs').writeFileSync('dist/launch/supervisor/start.js', "console.log('started')");`;
  await project.write('vendor/typescript/bin/tsc', compiler);
  project.env['REDIS_URL'] = 'redis://127.0.0.1:6379';
  const launched = project.setup('start');
  expect(await launched.ended).toBe(0);
  expect(launched.lines).toEqual(['started']);
});

test.each([
  ['chromium-headless-shell', 'chromium-headless-shell'],
  ['something else', 'chromium'],
])('what is missing comes from apt-get; of a system that has the package %s, %s', async (known, browser) => {
  await withAptGet(0, known);
  const launched = project.setup('test');
  expect(await launched.ended).toBe(0);
  expect(launched.lines.slice(-5)).toEqual([
    'installing redis-server, chromium with apt-get, for the whole machine ...',
    'the words of update',
    'the words of install',
    `installed redis-server, ${browser}`,
    join(project.folder, 'bin', browser),
  ]);
});

test('an apt-get that fails: its words, and what to do', async () => {
  await withAptGet(100, 'something else');
  const launched = project.setup('test');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.slice(-3)).toEqual([
    'the words of install',
    'apt-get failed (exit code 100), see above',
    expect.stringMatching(/^redis-server was not found: install it/),
  ]);
});

test('the unit tests want neither Redis nor a browser; CHROMIUM_PATH names the browser of the others', async () => {
  await withAptGet(0, 'something else');
  const unit = project.setup('test:unit');
  expect(await unit.ended).toBe(0);
  expect(unit.lines.slice(2)).toEqual(['undefined']);
  project.env['CHROMIUM_PATH'] = '/some/browser';
  const all = project.setup('test');
  expect(await all.ended).toBe(0);
  expect(all.lines[0]).toMatch(/^installing redis-server with apt-get/);
  expect(all.lines.at(-1)).toBe('/some/browser');
});
