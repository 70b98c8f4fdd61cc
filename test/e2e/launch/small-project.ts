import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../../common/process/package-root.ts';
import { testFolder } from '../../support/machine/folders.ts';
import { type Launched, launch } from './launched.ts';

/** Its compiler writes a program that says what it was given, and waits for a signal when asked to. */
const COMPILER = `
require('node:fs').mkdirSync('dist/api', { recursive: true });
require('node:fs').writeFileSync('dist/api/main.js', \`
  console.log('program', process.pid, ...process.argv.slice(2), ...(process.env.ASR_FROM_FILE ? [process.env.ASR_FROM_FILE] : []));
  if (process.argv.includes('wait')) {
    const timer = setInterval(() => {}, 1000);
    process.on('SIGTERM', () => { console.log('asked to end'); clearInterval(timer); process.exitCode = 7; });
  } else process.exitCode = 3;
\`);
`;

/** What npm ci does, at once. */
export const INSTALLS =
  'mkdir -p node_modules && ln -sfn ../vendor/typescript node_modules/typescript && cp package-lock.json node_modules/.package-lock.json';

export interface SmallProject {
  readonly folder: string;
  /** What its programs get besides. */
  readonly env: Record<string, string>;
  write(path: string, text: string): Promise<void>;
  /** From now on this script is its npm. */
  replaceNpm(script: string): Promise<void>;
  setup(...args: string[]): Launched;
}

/** The real set-up in a small project of its own; its packages come from a folder instead of a registry. */
export async function smallProject(): Promise<SmallProject> {
  const folder = testFolder();
  const env: Record<string, string> = {
    NODE_ENV: 'production',
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
  };
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text, { mode: 0o755 });
  };
  const { scripts } = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8'));
  const manifest = {
    name: 'small',
    version: '1.0.0',
    type: 'module',
    dependencies: { typescript: 'file:vendor/typescript' },
  };
  const typescript = { name: 'typescript', version: '7.0.0', engines: { node: '>=99' } };
  const packages = {
    '': manifest,
    'vendor/typescript': typescript,
    'node_modules/typescript': { resolved: 'vendor/typescript', link: true },
  };
  const lock = { name: 'small', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
  for (const part of ['launch/setup', 'common/process/lock.mjs'])
    await cp(join(packageRoot(), part), join(folder, part), { recursive: true });
  await write('vendor/typescript/bin/tsc', COMPILER);
  await write('vendor/typescript/package.json', JSON.stringify(typescript));
  await write('package.json', JSON.stringify({ ...manifest, scripts }));
  await write('package-lock.json', JSON.stringify(lock));
  return {
    folder,
    env,
    write,
    replaceNpm: (script) => write('bin/npm', `#!/bin/sh\n${script}\n`),
    setup: (...args) => launch(process.execPath, [join(folder, 'launch/setup/setup.mjs'), ...args], env),
  };
}
