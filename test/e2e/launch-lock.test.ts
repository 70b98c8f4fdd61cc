import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Launched } from './launched.ts';
import { SmallProject } from './small-project.ts';

/** Of several set-ups of one checkout, one works at a time. */
let project: SmallProject;

beforeEach(async () => {
  project = await SmallProject.create();
});

afterEach(() => project.tidy());

const setup = (...args: string[]): Launched => project.setup(...args);

test('two at once: one installs, the other waits for it', async () => {
  await project.installSlowly();
  const first = setup('setup');
  const installing = await project.installing();
  const second = setup('setup');
  await second.line('waiting for another set-up');
  process.kill(installing, 'SIGUSR2');
  expect(await Promise.all([first.ended, second.ended])).toEqual([0, 0]);
  const lines = [first, second].flatMap((launched) => launched.lines);
  expect(lines.filter((line) => line.startsWith('installing'))).toHaveLength(1);
  expect(lines.filter((line) => line.startsWith('waiting for another set-up'))).toHaveLength(1);
  expect(await readdir(join(project.folder, '.cache'))).toEqual([]);
});

test('one that waits says so once, and goes on when the other ends while it looks', async () => {
  await project.installAtOnce();
  await mkdir(join(project.folder, '.cache'));
  const lock = join(project.folder, '.cache/setup.lock');
  await writeFile(lock, `${process.pid} another set-up\n`);
  // It stands still, and not for so long that it counts no more.
  const aWhileAgo = new Date(Date.now() - 20_000);
  await utimes(lock, aWhileAgo, aWhileAgo);
  const endsAtTheThirdLook = `
    import fs from 'node:fs';
    const { readFile } = fs.promises;
    let looks = 0;
    fs.promises.readFile = async (path, ...options) => {
      if (String(path).endsWith('setup.lock') && ++looks === 3) fs.rmSync(path);
      return readFile(path, ...options);
    };
    (await import('node:module')).syncBuiltinESMExports();`;
  project.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(endsAtTheThirdLook)}`;
  const launched = setup('setup');
  expect(await launched.ended).toBe(0);
  expect(launched.lines).toEqual([
    expect.stringMatching(`^waiting for another set-up of this folder \\(process ${process.pid}\\) ...`),
    expect.stringMatching(/^installing/),
    expect.stringMatching(/^dependencies installed/),
  ]);
});

test('one that was killed blocks nobody', async () => {
  await project.installAtOnce();
  const dead = setup('no such command');
  await dead.ended;
  await mkdir(join(project.folder, '.cache'));
  await writeFile(join(project.folder, '.cache/setup.lock'), `${dead.pid} left behind\n`);
  const both = [setup('setup'), setup('setup')];
  expect(await Promise.all(both.map(({ ended }) => ended))).toEqual([0, 0]);
  expect(
    both.flatMap((launched) => launched.lines).filter((line) => line.startsWith('installing')),
  ).toHaveLength(1);
  expect(await readdir(join(project.folder, '.cache'))).toEqual([]);
});

test('nor does one whose process number was given out again', async () => {
  await project.installAtOnce();
  await mkdir(join(project.folder, '.cache'));
  const lock = join(project.folder, '.cache/setup.lock');
  await writeFile(lock, `${process.pid} left behind\n`);
  const longAgo = new Date(Date.now() - 31_000);
  await utimes(lock, longAgo, longAgo);
  const launched = setup('setup');
  expect(await launched.ended).toBe(0);
  expect(launched.lines[0]).toMatch(/^installing/);
  expect(await readdir(join(project.folder, '.cache'))).toEqual([]);
});

test.each([
  [
    "another user's",
    `const { kill } = process;
    process.kill = (pid, signal) => {
      if (signal === 0) throw Object.assign(new Error('not yours'), { code: 'EPERM' });
      return kill.call(process, pid, signal);
    };`,
  ],
  [
    'one that took the place of a dead one at the last moment',
    `const { rename } = fs.promises;
    fs.promises.rename = (from, to) => {
      if (from.endsWith('setup.lock')) fs.writeFileSync(from, '${process.pid} just come');
      return rename(from, to);
    };`,
  ],
])('%s is waited for', async (_whose, script) => {
  await project.installAtOnce();
  const dead = setup('no such command');
  await dead.ended;
  await mkdir(join(project.folder, '.cache'));
  const lock = join(project.folder, '.cache/setup.lock');
  await writeFile(lock, `${dead.pid} left behind\n`);
  const changed = `import fs from 'node:fs'; ${script} (await import('node:module')).syncBuiltinESMExports();`;
  project.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(changed)}`;
  const launched = setup('setup');
  await launched.line('waiting for another set-up');
  await rm(lock);
  expect(await launched.ended).toBe(0);
});

test('one that takes long renews its lock', async () => {
  await project.installSlowly();
  const faster = 'const set = setInterval; globalThis.setInterval = (f, ms) => set(f, ms / 50);';
  project.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(faster)}`;
  setup('setup');
  await project.installing();
  const lock = join(project.folder, '.cache/setup.lock');
  const longAgo = new Date(Date.now() - 20_000);
  await utimes(lock, longAgo, longAgo);
  await expect.poll(async () => (await stat(lock)).mtimeMs).toBeGreaterThan(longAgo.getTime() + 10_000);
});

test('one that stood still leaves the lock to the one that took over', async () => {
  await project.installSlowly();
  const launched = setup('setup');
  const installing = await project.installing();
  const lock = join(project.folder, '.cache/setup.lock');
  const others = `${process.pid} another set-up\n`;
  await writeFile(lock, others);
  process.kill(installing, 'SIGKILL');
  expect(await launched.ended).toBe(1);
  expect(await readFile(lock, 'utf8')).toBe(others);
});
