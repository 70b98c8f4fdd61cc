import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { childrenOf, type Launched, stillRunning } from './launched.ts';
import { SmallProject } from './small-project.ts';

let project: SmallProject;

beforeEach(async () => {
  project = await SmallProject.create();
});

afterEach(() => project.tidy());

const setup = (...args: string[]): Launched => project.setup(...args);

test('installs once, installs again when the lock file changed, and hands over in its own process', async () => {
  const first = setup('api', 'one', '--two');
  expect(await first.ended).toBe(3);
  expect(first.lines).toEqual([
    expect.stringMatching(/^installing dependencies with npm ci/),
    expect.stringMatching(/^dependencies installed in \d+ s$/),
    `program ${first.pid} one --two`,
  ]);
  const second = setup('api');
  await second.ended;
  expect(second.lines).toEqual([`program ${second.pid}`]);

  await project.writeManifests('7.0.1');
  const third = setup('setup');
  expect(await third.ended).toBe(0);
  expect(third.lines[0]).toMatch(/^installing/);
});

test('installs for a user who has npm stop at what packages say of the version of Node', async () => {
  project.env['npm_config_engine_strict'] = 'true';
  expect(await setup('setup').ended).toBe(0);
});

test('packages that were installed by hand stay as they are', async () => {
  expect(await project.run('npm', 'ci', '--prefix', project.folder).ended).toBe(0);
  const launched = setup('setup');
  expect(await launched.ended).toBe(0);
  expect(launched.lines).toEqual([]);
});

test('npm run: SIGTERM to npm ends the program, and its exit code comes back', async () => {
  expect(await setup('setup').ended).toBe(0);
  const npm = project.run('npm', 'run', '--prefix', project.folder, 'api', '--', 'wait');
  const program = Number((await npm.line('program ')).split(' ')[1]);
  project.pids.add(program);
  expect(await childrenOf(npm.pid)).toEqual([expect.objectContaining({ pid: program })]);
  process.kill(npm.pid, 'SIGTERM');
  expect(await npm.ended).toBe(7);
  expect(npm.lines).toContain('asked to end');
  expect(await stillRunning([program])).toEqual([]);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s while it installs: it ends by that signal, and so does npm; no lock is left',
  async (signal) => {
    await project.installSlowly();
    const launched = setup('setup');
    const installing = await project.installing();
    process.kill(launched.pid, signal);
    expect(await launched.ended).toBe(signal);
    expect(await readdir(join(project.folder, '.cache'))).toEqual([]);
    expect(await stillRunning([installing])).toEqual([]);
  },
);

// Elsewhere there is no setsid.
test.skipIf(process.platform !== 'linux')(
  'killed with its group while it installs, it takes npm with it, though that does not end when asked',
  async () => {
    await project.installSlowly();
    await appendFile(join(project.folder, 'slow.cjs'), "process.on('SIGTERM', () => {});");
    const script = join(project.folder, 'common/launch/setup.mjs');
    const launched = project.run('setsid', process.execPath, script, 'setup');
    const installing = await project.installing();
    process.kill(-launched.pid, 'SIGKILL');
    await launched.ended;
    await expect.poll(() => stillRunning([installing]), { timeout: 5_000 }).toEqual([]);
  },
);

test('when npm fails, its own words and what to do', async () => {
  await rm(join(project.folder, 'package-lock.json'));
  await writeFile(
    join(project.folder, 'package-lock.json'),
    '{"name":"small","lockfileVersion":3,"packages":{}}',
  );
  const launched = setup('api');
  expect(await launched.ended).toBe(1);
  const text = launched.lines.join('\n');
  expect(text).toContain('npm error');
  expect(text).toMatch(
    /npm ci failed \(exit code 1\).*registry.*npm's cache.*then give the same command again/,
  );
  expect(text).not.toContain('program');
});

test('a program that does not compile is not started', async () => {
  await project.installAtOnce();
  await writeFile(
    join(project.folder, 'vendor/typescript/bin/tsc'),
    `console.log('api/main.ts(1,1): error'); process.exitCode = 2;`,
  );
  const launched = setup('api');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.slice(-2)).toEqual([
    'api/main.ts(1,1): error',
    'the build failed (tsc -b: exit code 2), see above',
  ]);
});

test('a test that does not compile is shown, and stops no program', async () => {
  await project.installAtOnce();
  await project.write(
    'vendor/typescript/bin/tsc',
    `require('node:fs').mkdirSync('dist/test/eval', { recursive: true });
    require('node:fs').writeFileSync('dist/test/eval/main.js', "console.log('evaluated')");
    console.log('test/one.ts(1,1): error');
    process.exitCode = 2;`,
  );
  const launched = setup('eval');
  expect(await launched.ended).toBe(0);
  expect(launched.lines.slice(-2)).toEqual(['test/one.ts(1,1): error', 'evaluated']);
});

test("a command's own arguments stand in front of those that it is given; it runs in the project's folder", async () => {
  await project.installAtOnce();
  await setup('setup').ended;
  await mkdir(join(project.folder, 'node_modules/vitest'));
  await project.write(
    'node_modules/vitest/vitest.mjs',
    'console.log(process.cwd(), ...process.argv.slice(2));',
  );
  const launched = setup('test:docker', 'one.test.ts');
  expect(await launched.ended).toBe(0);
  const folder = await realpath(project.folder);
  expect(launched.lines).toEqual([`${folder} run --config test/docker/vitest.config.ts one.test.ts`]);
});

test.skipIf(!existsSync('/dev/full'))('words that a full disk does not take stop nothing', async () => {
  await project.installAtOnce();
  const script = join(project.folder, 'common/launch/setup.mjs');
  const launched = project.run('sh', '-c', 'exec "$0" "$1" api 2> /dev/full', process.execPath, script);
  expect(await launched.ended).toBe(3);
  expect(launched.lines).toEqual([`program ${launched.pid}`]);
});

test('a command that does not exist', async () => {
  const launched = setup('strat');
  expect(await launched.ended).toBe(64);
  expect(launched.lines).toEqual([
    expect.stringContaining('unknown command "strat": give one of start, api'),
  ]);
});

const withNode = (version: string, command: string): Launched =>
  project.run(
    process.execPath,
    '--import',
    `data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`,
    join(project.folder, 'common/launch/setup.mjs'),
    command,
  );

test.each(['20.19.0', '22.12.0', '23.0.0', '24.0.0', '26.1.0'])('Node.js %s will do', async (version) => {
  const launched = withNode(version, 'strat');
  expect(await launched.ended).toBe(64);
  expect(launched.lines).toEqual([expect.stringContaining('unknown command "strat"')]);
});

test.each(['18.20.8', '20.18.3', '21.7.3', '22.11.0'])(
  'Node.js %s is told that it is too old',
  async (version) => {
    const launched = withNode(version, 'start');
    expect(await launched.ended).toBe(1);
    expect(launched.lines).toEqual([
      expect.stringContaining('Node.js 20.19, 22.12 or anything newer than 22 is needed'),
    ]);
  },
);
