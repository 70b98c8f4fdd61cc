import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { packageRoot } from '../../../common/process/package-root.ts';
import { baseEnv, Launched, tidy } from './launched.ts';

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

/**
 * The real set-up in a small project of its own: the packages come from a folder instead of a registry, and its compiler writes a program
 * that says what it was given, and waits for a signal when asked to.
 */
export class SmallProject {
  readonly folder: string;
  readonly pids = new Set<number>();
  /** What its programs get besides. */
  readonly env: Record<string, string> = {};

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(): Promise<SmallProject> {
    const project = new SmallProject(await mkdtemp(join(tmpdir(), 'asr-setup-test-')));
    await cp(join(packageRoot(), 'launch'), join(project.folder, 'launch'), {
      recursive: true,
      filter: (path) => !path.endsWith('.ts'),
    });
    await mkdir(join(project.folder, 'vendor/typescript/bin'), { recursive: true });
    await project.write('vendor/typescript/bin/tsc', COMPILER);
    await project.write(
      'vendor/typescript/package.json',
      '{"name":"typescript","version":"7.0.0","engines":{"node":">=99"}}',
    );
    await project.writeManifests('7.0.0');
    return project;
  }

  write(path: string, text: string): Promise<void> {
    return writeFile(join(this.folder, path), text);
  }

  async writeManifests(version: string): Promise<void> {
    const { scripts } = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8'));
    const manifest = {
      name: 'small',
      version: '1.0.0',
      type: 'module',
      dependencies: { typescript: 'file:vendor/typescript' },
    };
    await this.write('package.json', JSON.stringify({ ...manifest, scripts }));
    const packages = {
      '': manifest,
      'vendor/typescript': { name: 'typescript', version, engines: { node: '>=99' } },
      'node_modules/typescript': { resolved: 'vendor/typescript', link: true },
    };
    const lock = { name: 'small', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
    await this.write('package-lock.json', JSON.stringify(lock));
  }

  /** From now on its npm is one that does at once what the real one does, for tests whose subject is what comes before or after it. */
  async installAtOnce(): Promise<void> {
    await this.replaceNpm(
      'mkdir -p node_modules && ln -sfn ../vendor/typescript node_modules/typescript && cp package-lock.json node_modules/.package-lock.json',
    );
  }

  /** From now on its installation takes a minute, or until the process that `installing` tells has ended. */
  async installSlowly(): Promise<void> {
    await this.replaceNpm('echo $$ > started.new; mv started.new started; exec sleep 60');
  }

  async replaceNpm(script: string): Promise<void> {
    const bin = join(this.folder, 'bin');
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    this.env['PATH'] = `${bin}:${process.env['PATH']}`;
  }

  /** @returns the process that such an installation waits for, once it is there */
  async installing(): Promise<number> {
    const pid = await vi.waitFor(() => readFile(join(this.folder, 'started'), 'utf8').then(Number), {
      timeout: 20_000,
    });
    this.pids.add(pid);
    return pid;
  }

  run(file: string, ...args: string[]): Launched {
    const child = spawn(file, args, {
      cwd: tmpdir(),
      env: { ...baseEnv(), NODE_ENV: 'production', ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const launched = new Launched(child);
    this.pids.add(launched.pid);
    return launched;
  }

  setup(...args: string[]): Launched {
    return this.run(process.execPath, join(this.folder, 'launch/setup/setup.mjs'), ...args);
  }

  async tidy(): Promise<void> {
    await tidy(this.pids, this.folder);
  }
}
