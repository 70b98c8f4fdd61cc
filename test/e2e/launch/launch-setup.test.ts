import { spawnSync } from 'node:child_process';
import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { childrenOf, type Launched, launch, stillRunning } from './launched.ts';
import { INSTALLS, type SmallProject, smallProject } from './small-project.ts';

let project: SmallProject;

beforeEach(async () => {
  project = await smallProject();
});

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

  const lock = JSON.parse(await readFile(join(project.folder, 'package-lock.json'), 'utf8'));
  for (const [optional, lines] of [
    [true, []],
    [false, INSTALLED],
  ] as const) {
    lock.packages['node_modules/another'] = { version: '1.0.0', optional };
    await project.write('package-lock.json', JSON.stringify(lock));
    await project.replaceNpm(INSTALLS);
    const third = setup('setup');
    expect(await third.ended).toBe(0);
    expect(third.lines).toEqual(lines);
  }
});

// script is a terminal for a program; not every system has the one of util-linux.
const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux');
test.skipIf(!hasScript)('in a terminal it shows for how long it installs and builds', async () => {
  await project.replaceNpm(`sleep 2; ${INSTALLS}`);
  const line = `${process.execPath} launch/setup/setup.mjs api`;
  const launched = launch('script', ['-qec', `cd ${project.folder} && ${line}`, '/dev/null'], project.env);
  expect(await launched.ended).toBe(3);
  const installing = '\x1b[Kinstalling dependencies with npm ci (about half a minute) ...';
  expect(launched.lines).toEqual(
    expect.arrayContaining([`${installing} 0 s`, `${installing} 1 s`, '\x1b[Kbuilding ... 0 s']),
  );
});

test('settings come from .env, and what is set already wins', async () => {
  await project.replaceNpm(INSTALLS);
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
  const npm = launch('npm', ['run', '--prefix', project.folder, 'api', '--', 'wait'], project.env);
  const program = Number((await npm.line('program ')).split(' ')[1]);
  expect(await childrenOf(npm.pid)).toEqual([expect.objectContaining({ pid: program })]);
  process.kill(npm.pid, 'SIGTERM');
  expect(await npm.ended).toBe(7);
  expect(npm.lines).toContain('asked to end');
  expect(await stillRunning([program])).toEqual([]);
});

test('when npm fails, its own words and what to do', async () => {
  await project.replaceNpm('echo "npm error of its own" >&2; exit 1');
  const launched = setup('api');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.slice(1)).toEqual([
    'npm error of its own',
    expect.stringMatching(
      /^npm ci failed \(exit code 1\)\..*registry.*npm's cache.*then give the same command again/,
    ),
  ]);
});

test('a program that does not compile is not started', async () => {
  await project.replaceNpm(INSTALLS);
  const compiler = `console.log('api/main.ts(1,1): error'); process.exitCode = 2;`;
  await project.write('vendor/typescript/bin/tsc', compiler);
  const launched = setup('api');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.slice(-2)).toEqual([
    'api/main.ts(1,1): error',
    'the build failed (tsc -b: exit code 2), see above',
  ]);
});

test('a command of the tests runs in the project, with arguments of its own in front of those given', async () => {
  await project.replaceNpm(INSTALLS);
  const says = 'console.log(process.cwd(), ...process.argv.slice(2));';
  await project.write('node_modules/vitest/vitest.mjs', says);
  const launched = setup('test:unit', 'one.test.ts');
  expect(await launched.ended).toBe(0);
  const args = 'run --config test/vitest.config.ts test/unit one.test.ts';
  // Nothing else is said, so nothing else was wanted.
  expect(launched.lines).toEqual([...INSTALLED, `${await realpath(project.folder)} ${args}`]);
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

test('npm start explains itself before anything is installed, and refuses what it does not know', async () => {
  const help = setup('start', '--help');
  expect(await help.ended).toBe(0);
  expect(help.lines.slice(0, 2)).toEqual(['npm start', expect.stringContaining('runs the whole service')]);
  const wrong = setup('start', '--port', '9000');
  expect(await wrong.ended).toBe(64);
  expect(wrong.lines).toEqual(['start: unknown argument "--port"', ...help.lines]);
});

/**
 * From now on an installation takes a minute, or until the process ends that is returned once it has begun.
 */
async function slowNpm(): Promise<() => Promise<number>> {
  await project.replaceNpm('echo $$ > started.new; mv started.new started; exec sleep 60');
  const started = join(project.folder, 'started');
  return () => vi.waitFor(() => readFile(started, 'utf8').then(Number), { timeout: 20_000 });
}

test('two at once: one installs, the other waits for it', async () => {
  const installing = await slowNpm();
  const first = setup('setup');
  const npm = await installing();
  await project.replaceNpm(INSTALLS);
  const second = setup('setup');
  await second.line('waiting for another set-up');
  process.kill(npm, 'SIGTERM');
  expect(await first.ended).toBe(1);
  expect(first.lines.at(-1)).toContain('npm ci failed (SIGTERM)');
  expect(await second.ended).toBe(0);
  expect(second.lines).toEqual([expect.stringMatching(/^waiting for another/), ...INSTALLED]);
  expect(await readdir(join(project.folder, '.cache'))).toEqual([]);
});

test('Ctrl-C while it installs ends npm, too, and the next takes over its lock', async () => {
  const installing = await slowNpm();
  const script = join(project.folder, 'launch/setup/setup.mjs');
  const launched = launch(process.execPath, [script, 'setup'], project.env, { ownGroup: true });
  const npm = await installing();
  process.kill(-launched.pid, 'SIGINT');
  expect(await launched.ended).toBe('SIGINT');
  await expect.poll(() => stillRunning([npm])).toEqual([]);
  expect(await readdir(join(project.folder, '.cache'))).toEqual(['setup.lock']);
  await project.replaceNpm(INSTALLS);
  const next = setup('setup');
  expect(await next.ended).toBe(0);
  expect(next.lines).toEqual(INSTALLED);
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
