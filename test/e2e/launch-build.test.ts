import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../common/package-root.ts';

/** The servers' projects with a file each, and the real compiler. */
let root: string;
const PROJECTS = ['common', 'models', 'api', 'api/client', 'api/page', 'inference'];

async function build(): Promise<void> {
  const script = join(packageRoot(), 'common/launch/build.mjs');
  const code = `import { build } from ${JSON.stringify(script)}; await build(${JSON.stringify(root)}, 'servers')`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
}

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'asr-build-test-'));
  await symlink(join(packageRoot(), 'node_modules'), join(root, 'node_modules'));
  await writeFile(join(root, 'package.json'), '{"type":"module"}');
  for (const project of PROJECTS) {
    await mkdir(join(root, project), { recursive: true });
    const compilerOptions = {
      composite: true,
      types: [],
      lib: ['es5'],
      skipLibCheck: true,
      rootDir: join(root, project),
      outDir: join(root, 'dist', project),
    };
    const exclude = project === 'api' ? ['client', 'page'] : [];
    await writeFile(join(root, project, 'tsconfig.json'), JSON.stringify({ compilerOptions, exclude }));
    await writeFile(join(root, project, 'one.ts'), `export const name = '${project}';\n`);
  }
  await build();
});

afterEach(() => rm(root, { recursive: true, force: true }));

const output = (project: string): string => join(root, 'dist', project, 'one.js');

test.each(['deleted', 'emptied'])('output that was %s is written again', async (what) => {
  const before = await readFile(output('api/page'), 'utf8');
  if (what === 'deleted') await rm(output('api/page'));
  else await writeFile(output('api/page'), '');
  await build();
  expect(await readFile(output('api/page'), 'utf8')).toBe(before);
});

test.each([
  ['a source that is older than the build, as from rsync or an archive', 'common/one.ts', '2020-01-01'],
  ['a build from a time when the clock was wrong', 'dist/common/tsconfig.tsbuildinfo', '2100-01-01'],
])('%s: what it says is compiled', async (_what, path, date) => {
  await writeFile(join(root, 'common/one.ts'), "export const name = 'changed';\n");
  await utimes(join(root, path), new Date(date), new Date(date));
  await build();
  expect(await readFile(output('common'), 'utf8')).toContain("'changed'");
});

test('settings of the compiler that are older than the build count, and a record that was deleted is made again', async () => {
  const path = join(root, 'common/tsconfig.json');
  const settings = JSON.parse(await readFile(path, 'utf8'));
  settings.compilerOptions.module = 'commonjs';
  await writeFile(path, JSON.stringify(settings));
  await utimes(path, new Date('2020-01-01'), new Date('2020-01-01'));
  await rm(join(root, 'dist/api/tsconfig.tsbuildinfo'));
  await build();
  expect(await readFile(output('common'), 'utf8')).toContain('exports.name');
});
