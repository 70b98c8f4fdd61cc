import { mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
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

const INSTALLED = [
  expect.stringMatching(/^installing dependencies with npm ci/),
  expect.stringMatching(/^dependencies installed in \d+ s$/),
];

test('installs once, installs again when the lock file changed, and hands over in its own process', async () => {
  project.env['npm_config_engine_strict'] = 'true'; // and NODE_ENV is production
  const first = setup('api', 'one', '--two');
  expect(await first.ended).toBe(3);
  expect(first.lines).toEqual([...INSTALLED, `program ${first.pid} one --two`]);
  const second = setup('api');
  await second.ended;
  expect(second.lines).toEqual([`program ${second.pid}`]);

  const path = join(project.folder, 'package-lock.json');
  const lock = JSON.parse(await readFile(path, 'utf8'));
  for (const [optional, lines] of [
    [true, []],
    [false, INSTALLED],
  ] as const) {
    lock.packages['node_modules/another'] = { version: '1.0.0', optional };
    await writeFile(path, JSON.stringify(lock));
    await project.installAtOnce();
    const third = setup('setup');
    expect(await third.ended).toBe(0);
    expect(third.lines).toEqual(lines);
  }
});

test('settings come from .env, and what is set already wins', async () => {
  await project.installAtOnce();
  await project.write('.env', 'ASR_FROM_FILE=from-file\n');
  const first = setup('api');
  await first.ended;
  expect(first.lines.at(-1)).toBe(`program ${first.pid} from-file`);
  project.env['ASR_FROM_FILE'] = 'from-shell';
  const second = setup('api');
  await second.ended;
  expect(second.lines.at(-1)).toBe(`program ${second.pid} from-shell`);
});

test('no kind of package may be left out, and no GPU files are fetched', async () => {
  await project.replaceNpm('echo "$@" $ONNXRUNTIME_NODE_INSTALL > given');
  await setup('setup').ended;
  expect(await readFile(join(project.folder, 'given'), 'utf8')).toMatch(
    /^ci --include=dev --include=optional --include=peer .* skip\n$/,
  );
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

test.each([
  ['echo "npm error of its own" >&2; exit 1', ['npm error of its own', 'npm ci failed (exit code 1)']],
  ['kill -TERM $$', ['npm ci failed (SIGTERM)']],
])('when npm fails, its own words and what to do: %s', async (script, words) => {
  await project.replaceNpm(script);
  const launched = setup('api');
  expect(await launched.ended).toBe(1);
  const [, ...lines] = launched.lines;
  expect(lines).toEqual(words.map((word) => expect.stringContaining(word)));
  expect(lines.at(-1)).toMatch(/registry.*npm's cache.*then give the same command again/);
});

test('a program that does not compile is not started', async () => {
  await project.installAtOnce();
  const compiler = `console.log('api/main.ts(1,1): error'); process.exitCode = 2;`;
  await project.write('vendor/typescript/bin/tsc', compiler);
  const launched = setup('api');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.slice(-2)).toEqual([
    'api/main.ts(1,1): error',
    'the build failed (tsc -b: exit code 2), see above',
  ]);
});

test.each([
  ['test:docker', 'run --config test/docker/vitest.config.ts'],
  ['test:unit', 'run --config test/vitest.config.ts test/unit'],
])('%s runs in the project with arguments of its own in front of those given', async (command, args) => {
  await project.installAtOnce();
  await mkdir(join(project.folder, 'node_modules/vitest'), { recursive: true });
  await project.write(
    'node_modules/vitest/vitest.mjs',
    'console.log(process.cwd(), ...process.argv.slice(2));',
  );
  const launched = setup(command, 'one.test.ts');
  expect(await launched.ended).toBe(0);
  // Nothing else is said, so nothing else was wanted.
  expect(launched.lines).toEqual([...INSTALLED, `${await realpath(project.folder)} ${args} one.test.ts`]);
});

test('a command that does not exist, and a folder that cannot be written, are one line', async () => {
  const unknown = setup('strat');
  expect(await unknown.ended).toBe(64);
  expect(unknown.lines).toEqual([expect.stringContaining('unknown command "strat": give one of start, api')]);
  await project.write('.cache', 'a file where a folder should be');
  const unwritable = setup('setup');
  expect(await unwritable.ended).toBe(1);
  expect(unwritable.lines).toEqual([expect.stringMatching(/^the set-up cannot go on: EEXIST: .*\.cache'$/)]);
});

test('two at once: one installs, the other waits for it', async () => {
  await project.installSlowly();
  const first = setup('setup');
  const installing = await project.installing();
  await project.installAtOnce();
  const second = setup('setup');
  await second.line('waiting for another set-up');
  process.kill(installing, 'SIGTERM');
  expect(await first.ended).toBe(1);
  expect(await second.ended).toBe(0);
  expect(second.lines).toEqual([expect.stringMatching(/^waiting for another/), ...INSTALLED]);
  expect(await readdir(join(project.folder, '.cache'))).toEqual([]);
});

test('Ctrl-C while it installs ends npm, too; of two that come next, one takes over its lock', async () => {
  await project.installSlowly();
  const script = join(project.folder, 'launch/setup/setup.mjs');
  const launched = project.run('setsid', process.execPath, script, 'setup');
  const installing = await project.installing();
  process.kill(-launched.pid, 'SIGINT');
  expect(await launched.ended).toBe('SIGINT');
  await expect.poll(() => stillRunning([installing])).toEqual([]);
  await project.installAtOnce();
  const next = [setup('setup'), setup('setup')];
  expect(await Promise.all(next.map(({ ended }) => ended))).toEqual([0, 0]);
  const lines = next.flatMap((one) => one.lines);
  expect(lines.filter((line) => line.startsWith('installing'))).toHaveLength(1);
  expect(await readdir(join(project.folder, '.cache'))).toEqual([]);
});

test.each([
  ['18.20.8', false],
  ['20.18.3', false],
  ['20.19.0', true],
  ['21.7.3', false],
  ['22.11.0', false],
  ['22.12.0', true],
  ['23.0.0', true],
  ['24.0.0', true],
  ['26.1.0', true],
])('Node.js %s will do: %s', async (version, willDo) => {
  const script = `Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`;
  project.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(script)}`;
  const launched = setup('strat');
  expect(await launched.ended).toBe(willDo ? 64 : 1);
  const words = willDo
    ? 'unknown command "strat"'
    : 'Node.js 20.19, 22.12 or anything newer than 22 is needed';
  expect(launched.lines).toEqual([expect.stringContaining(words)]);
});
