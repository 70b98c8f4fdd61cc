import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { installDependencies } from './dependencies.mjs';
import { fileWords } from './files.mjs';
import { ensurePrograms } from './programs.mjs';
import { Interrupted, SetupFailure } from './quiet-run.mjs';
import { withSetupLock } from './setup-lock.mjs';

/**
 * @typedef {object} Command
 * @property {'servers' | 'all' | 'none'} build  what must be compiled first
 * @property {(env: NodeJS.ProcessEnv) => import('./programs.mjs').ProgramName[]} [programs]  what must be on this machine
 * @property {string} [run]  the module that takes over, from the project's folder
 * @property {string[]} [args]  what it gets in front of the caller's own arguments
 */

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const VITEST = 'node_modules/vitest/vitest.mjs';

/** @type {Readonly<Record<string, Command>>} */
export const COMMANDS = {
  start: {
    build: 'servers',
    programs: (env) => (env['REDIS_URL']?.trim() ? [] : ['redis-server']),
    run: 'dist/common/launch/start.js',
  },
  api: { build: 'servers', run: 'dist/api/main.js' },
  inference: { build: 'servers', run: 'dist/inference/main.js' },
  models: { build: 'servers', run: 'dist/models/cli.js' },
  test: {
    build: 'all',
    programs: () => ['redis-server', 'chromium', 'openssl', 'curl'],
    run: VITEST,
    args: ['run', '--config', 'test/vitest.config.ts'],
  },
  'test:docker': { build: 'none', run: VITEST, args: ['run', '--config', 'test/docker/vitest.config.ts'] },
  bench: { build: 'all', programs: () => ['redis-server'], run: 'dist/test/bench/main.js' },
  eval: { build: 'all', run: 'dist/test/eval/main.js' },
  fuzz: { build: 'all', programs: () => ['redis-server'], run: 'dist/test/fuzz/main.js' },
  'gpu:install': { build: 'none', run: 'common/launch/gpu-install.mjs' },
  /** Only the set-up, e.g. for CI. */
  setup: { build: 'none' },
};

/** @param {readonly string[]} argv the command and its arguments */
export async function main([name = '', ...args]) {
  const command = COMMANDS[name];
  if (command === undefined) {
    console.error(`unknown command "${name}": give one of ${Object.keys(COMMANDS).join(', ')}`);
    process.exitCode = 64;
    return;
  }
  process.chdir(root);
  // What it says in vain, on a full disk or into a closed pipe, is no reason to leave the set-up half done.
  process.stderr.on('error', () => {});
  try {
    await withSetupLock(root, async () => {
      await installDependencies(root);
      if (command.build !== 'none') await build(root, command.build);
      await ensurePrograms(command.programs?.(process.env) ?? []);
    });
  } catch (error) {
    if (error instanceof Interrupted) {
      process.kill(process.pid, error.signal);
      return;
    }
    console.error(
      error instanceof SetupFailure ? error.message : (fileWords(error, root, command.run) ?? error),
    );
    process.exitCode = 1;
    return;
  }
  if (command.run !== undefined) await become(join(root, command.run), [...(command.args ?? []), ...args]);
}

/**
 * The program runs in this very process: its signals, exit code, standard input and output are its own, and no process stands between.
 * @param {string} program
 * @param {readonly string[]} args
 */
async function become(program, args) {
  process.argv = [process.execPath, program, ...args];
  await import(pathToFileURL(program).href);
}
