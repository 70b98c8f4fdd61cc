import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../common/package-root.ts';
import { baseEnv, childrenOf, Launched, stillRunning, tidy } from './launched.ts';

/**
 * The real set-up in a small project of its own: the packages come from a folder instead of a registry, and its compiler writes a program
 * that says what it was given, and waits for a signal when asked to.
 */
let folder: string;
const pids = new Set<number>();

const COMPILER = `
require('node:fs').mkdirSync('dist/api', { recursive: true });
require('node:fs').writeFileSync('dist/api/main.js', \`
  console.log('program', process.pid, ...process.argv.slice(2));
  if (process.argv.includes('wait')) {
    const timer = setInterval(() => {}, 1000);
    process.on('SIGTERM', () => { console.log('asked to end'); clearInterval(timer); process.exitCode = 7; });
  } else process.exitCode = 3;
\`);
`;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'asr-setup-test-'));
  await cp(join(packageRoot(), 'common/launch'), join(folder, 'common/launch'), {
    recursive: true,
    filter: (path) => !path.endsWith('.ts'),
  });
  await mkdir(join(folder, 'vendor/typescript/bin'), { recursive: true });
  await writeFile(join(folder, 'vendor/typescript/bin/tsc'), COMPILER);
  await writeFile(join(folder, 'vendor/typescript/package.json'), '{"name":"typescript","version":"7.0.0"}');
  await writeManifests('7.0.0');
});

afterEach(async () => {
  await tidy(pids, folder);
  pids.clear();
});

async function writeManifests(version: string): Promise<void> {
  const { scripts } = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8'));
  const manifest = {
    name: 'small',
    version: '1.0.0',
    type: 'module',
    dependencies: { typescript: 'file:vendor/typescript' },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, scripts }));
  const packages = {
    '': manifest,
    'vendor/typescript': { name: 'typescript', version },
    'node_modules/typescript': { resolved: 'vendor/typescript', link: true },
  };
  const lock = { name: 'small', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lock));
}

function run(file: string, ...args: string[]): Launched {
  const child = spawn(file, args, {
    cwd: tmpdir(),
    env: { ...baseEnv(), NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const launched = new Launched(child);
  pids.add(launched.pid);
  return launched;
}

const setup = (...args: string[]): Launched =>
  run(process.execPath, join(folder, 'common/launch/setup.mjs'), ...args);

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

  await writeManifests('7.0.1');
  const third = setup('setup');
  expect(await third.ended).toBe(0);
  expect(third.lines[0]).toMatch(/^installing/);
});

test('packages that were installed by hand stay as they are', async () => {
  expect(await run('npm', 'ci', '--prefix', folder).ended).toBe(0);
  const launched = setup('setup');
  expect(await launched.ended).toBe(0);
  expect(launched.lines).toEqual([]);
});

test('npm run: SIGTERM to npm ends the program, and its exit code comes back', async () => {
  expect(await setup('setup').ended).toBe(0);
  const npm = run('npm', 'run', '--prefix', folder, 'api', '--', 'wait');
  const program = Number((await npm.line('program ')).split(' ')[1]);
  pids.add(program);
  expect(await childrenOf(npm.pid)).toEqual([expect.objectContaining({ pid: program })]);
  process.kill(npm.pid, 'SIGTERM');
  expect(await npm.ended).toBe(7);
  expect(npm.lines).toContain('asked to end');
  expect(await stillRunning([program])).toEqual([]);
});

test('two at once: one installs, the other waits for it', async () => {
  const both = [setup('setup'), setup('setup')];
  expect(await Promise.all(both.map(({ ended }) => ended))).toEqual([0, 0]);
  const lines = both.flatMap((launched) => launched.lines);
  expect(lines.filter((line) => line.startsWith('installing'))).toHaveLength(1);
  expect(lines.filter((line) => line.startsWith('waiting for another set-up'))).toHaveLength(1);
  expect(await readdir(join(folder, '.cache'))).toEqual([]);
});

test('one that was killed blocks nobody', async () => {
  const dead = setup('no such command');
  await dead.ended;
  await mkdir(join(folder, '.cache'));
  await writeFile(join(folder, '.cache/setup.lock'), `${dead.pid} left behind\n`);
  const both = [setup('setup'), setup('setup')];
  expect(await Promise.all(both.map(({ ended }) => ended))).toEqual([0, 0]);
  expect(
    both.flatMap((launched) => launched.lines).filter((line) => line.startsWith('installing')),
  ).toHaveLength(1);
  expect(await readdir(join(folder, '.cache'))).toEqual([]);
});

test('interrupted while it installs, it ends by that signal and holds no lock', async () => {
  const slow = `require('node:fs').writeFileSync('../../started', ''); setTimeout(() => {}, 60000);`;
  await writeFile(
    join(folder, 'vendor/typescript/package.json'),
    JSON.stringify({ name: 'typescript', version: '7.0.0', scripts: { install: 'node slow.cjs' } }),
  );
  await writeFile(join(folder, 'vendor/typescript/slow.cjs'), slow);
  const launched = setup('setup');
  await expect.poll(() => readdir(folder), { timeout: 10_000 }).toContain('started');
  process.kill(launched.pid, 'SIGTERM');
  expect(await launched.ended).toBe('SIGTERM');
  expect(await readdir(join(folder, '.cache'))).toEqual([]);
});

test('when npm fails, its own words and what to do', async () => {
  await rm(join(folder, 'package-lock.json'));
  await writeFile(join(folder, 'package-lock.json'), '{"name":"small","lockfileVersion":3,"packages":{}}');
  const launched = setup('api');
  expect(await launched.ended).toBe(1);
  const text = launched.lines.join('\n');
  expect(text).toContain('npm error');
  expect(text).toMatch(/npm ci failed \(exit code 1\).*then give the same command again/);
  expect(text).not.toContain('program');
});

test('a program that does not compile is not started', async () => {
  await writeFile(
    join(folder, 'vendor/typescript/bin/tsc'),
    `console.log('api/main.ts(1,1): error'); process.exitCode = 2;`,
  );
  const launched = setup('api');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.slice(-2)).toEqual([
    'api/main.ts(1,1): error',
    'the build failed (tsc -b: exit code 2), see above',
  ]);
});

test('a command that does not exist', async () => {
  const launched = setup('strat');
  expect(await launched.ended).toBe(64);
  expect(launched.lines).toEqual([
    expect.stringContaining('unknown command "strat": give one of start, api'),
  ]);
});

test.each(['18.20.8', '20.18.3', '21.7.3', '22.11.0'])(
  'Node.js %s is told that it is too old',
  async (version) => {
    const launched = run(
      process.execPath,
      '--import',
      `data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`,
      join(folder, 'common/launch/setup.mjs'),
      'start',
    );
    expect(await launched.ended).toBe(1);
    expect(launched.lines).toEqual([
      expect.stringContaining('Node.js 20.19, 22.12 or anything newer than 22 is needed'),
    ]);
  },
);
