import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SmallProject } from './small-project.ts';

/** What becomes of a checkout that was set up once and is not what it was, and of an npm that is not what it should be. */
let project: SmallProject;

beforeEach(async () => {
  project = await SmallProject.create();
});

afterEach(() => project.tidy());

async function setUp(): Promise<readonly string[]> {
  const launched = project.setup('setup');
  expect(await launched.ended).toBe(0);
  return launched.lines;
}

const INSTALLED = [
  expect.stringMatching(/^installing dependencies/),
  expect.stringMatching(/^dependencies installed/),
];

test('a package that was deleted is installed again', async () => {
  await setUp();
  await rm(join(project.folder, 'node_modules/typescript'), { recursive: true });
  expect(await setUp()).toEqual(INSTALLED);
  expect(await setUp()).toEqual([]);
});

test("npm's own record, cut off by a full disk or a power cut, counts as none", async () => {
  await setUp();
  await project.write('node_modules/.package-lock.json', '{"name":"small","lockfi');
  await project.write('node_modules/.setup-stamp', 'of another lock file');
  expect(await setUp()).toEqual(INSTALLED);
});

test('no npm: one line that says so', async () => {
  await mkdir(join(project.folder, 'empty'));
  project.env['PATH'] = join(project.folder, 'empty');
  const launched = project.setup('setup');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.slice(1)).toEqual([
    expect.stringMatching(/^npm ci failed \(spawn npm ENOENT\)\. Check the connection/),
  ]);
});

test('an npm that says yes and installs nothing, as on a full disk; no kind of package may be left out', async () => {
  await project.write(
    'npm',
    '#!/bin/sh\necho "$@" > arguments\necho "$ONNXRUNTIME_NODE_INSTALL" > runtime\n',
  );
  await chmod(join(project.folder, 'npm'), 0o755);
  project.env['PATH'] = `${project.folder}:${process.env['PATH']}`;
  // Under `yarn run` this is yarn's own script.
  project.env['npm_execpath'] = '/no/such/yarn.js';
  const launched = project.setup('setup');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.at(-1)).toContain(
    'npm ci reported success, but node_modules/.package-lock.json is not there',
  );
  const given = await readFile(join(project.folder, 'arguments'), 'utf8');
  expect(given).toContain('ci --include=dev --include=optional --include=peer --install-strategy=hoisted');
  // Its news is not among the lines that are shown of a failure.
  expect(given).toContain('--no-update-notifier');
  // Hundreds of megabytes for GPUs, which nothing needs to start.
  expect(await readFile(join(project.folder, 'runtime'), 'utf8')).toBe('skip\n');
});

test.each([
  [process.platform, INSTALLED, {}],
  ['another-system', [], {}],
  [process.platform, [], { libc: ['musl'] }],
  [process.platform, [], { cpu: ['another'] }],
])('an optional package for %s that an installation by hand has left out', async (os, lines, others) => {
  const entry = { version: '1.0.0', optional: true, os: [os], cpu: [process.arch], ...others };
  const lock = (packages: object): string => JSON.stringify({ name: 'small', lockfileVersion: 3, packages });
  await project.write('package-lock.json', lock({ 'node_modules/native': entry }));
  await mkdir(join(project.folder, 'node_modules'));
  await project.write('node_modules/.package-lock.json', lock({}));
  await project.write('record', lock({ 'node_modules/native': entry }));
  const installs =
    'mkdir -p node_modules/native && echo {} > node_modules/native/package.json && cp record node_modules/.package-lock.json';
  await project.write('npm', `#!/bin/sh\n${installs}\n`);
  await chmod(join(project.folder, 'npm'), 0o755);
  project.env['PATH'] = `${project.folder}:${process.env['PATH']}`;
  expect(await setUp()).toEqual(lines);
  await rm(join(project.folder, 'node_modules/native'), { recursive: true, force: true });
  expect(await setUp()).toEqual(lines);
});

test('an optional package that npm leaves out is asked for once, and again on another machine or Node', async () => {
  const entry = { version: '1.0.0', optional: true, os: [process.platform], cpu: [process.arch] };
  const lock = (packages: object): string => JSON.stringify({ name: 'small', lockfileVersion: 3, packages });
  await project.write('package-lock.json', lock({ 'node_modules/native': entry }));
  await project.write('record', lock({}));
  await project.write(
    'npm',
    '#!/bin/sh\nmkdir -p node_modules && cp record node_modules/.package-lock.json\n',
  );
  await chmod(join(project.folder, 'npm'), 0o755);
  project.env['PATH'] = `${project.folder}:${process.env['PATH']}`;
  expect(await setUp()).toEqual(INSTALLED);
  expect(await setUp()).toEqual([]);
  const stamp = await readFile(join(project.folder, 'node_modules/.setup-stamp'), 'utf8');
  for (const here of [`${process.platform}-${process.arch}`, /node\d+/]) {
    await project.write('node_modules/.setup-stamp', stamp.replace(here, 'another'));
    expect(await setUp()).toEqual(INSTALLED);
  }
});

test('on a disk that is nearly full, that is said in front of what npm says', async () => {
  await mkdir(join(project.folder, 'empty'));
  project.env['PATH'] = join(project.folder, 'empty');
  const nearlyFull = `
    import fs from 'node:fs';
    fs.promises.statfs = async () => ({ bavail: 10, bsize: 2 ** 20 });
    (await import('node:module')).syncBuiltinESMExports();`;
  project.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(nearlyFull)}`;
  const launched = project.setup('setup');
  expect(await launched.ended).toBe(1);
  expect(launched.lines.at(-1)).toMatch(
    /^The disk of \/.* has only 10 MB left: make room\. npm ci failed \(spawn npm ENOENT\)/,
  );
});

test.each([
  [
    'setup',
    'EROFS',
    /^the set-up must be able to write in .* \(EROFS: no, open\): give that folder .* of your own\.$/,
  ],
  [
    'api',
    'EACCES',
    /^the set-up must .* \(EACCES: no, open\): .* "node dist\/api\/main.js" starts without writing there\.$/,
  ],
  ['setup', 'ENOSPC', /^the disk of .* is full \(ENOSPC: no, open\): make room/],
] as const)('%s, %s: one line that says what to do', async (command, code, words) => {
  const failing = `
    import fs from 'node:fs';
    fs.promises.writeFile = async () => { throw Object.assign(new Error('${code}: no, open'), { code: '${code}', syscall: 'open' }); };
    (await import('node:module')).syncBuiltinESMExports();`;
  project.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(failing)}`;
  const launched = project.setup(command);
  expect(await launched.ended).toBe(1);
  expect(launched.lines).toEqual([expect.stringMatching(words)]);
});

test('a checkout on a read-only disk that was never set up is said to be one, too', async (context) => {
  const { folder } = project;
  if (spawnSync('mount', ['--bind', '-o', 'ro', folder, folder]).status !== 0)
    context.skip('a read-only disk takes the right to mount');
  const launched = project.setup('setup');
  // Before the folder is deleted, which `onTestFinished` is not.
  expect(await launched.ended.finally(() => spawnSync('umount', ['-l', folder]))).toBe(1);
  expect(launched.lines).toEqual([
    expect.stringMatching(/^the set-up must be able to write in .* \(EROFS: .*\.cache'\): give that folder /),
  ]);
});
