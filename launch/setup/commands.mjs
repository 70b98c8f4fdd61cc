import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { installDependencies } from './dependencies.mjs';
import { withSetupLock } from './lock.mjs';
import { ensurePrograms } from './programs.mjs';
import { SetupFailure, shown } from './run.mjs';

/**
 * @typedef {object} Command
 * @property {'servers' | 'all'} [build]  what must be compiled first; the tests see to that themselves (test/support/tools/build.ts)
 * @property {(env: NodeJS.ProcessEnv) => import('./programs.mjs').ProgramName[]} [programs]  what must be on this machine
 * @property {string} [run]  the module that takes over, from the project's folder
 * @property {string} [usage]  of one that takes no arguments
 * @property {string[]} [args]  what it gets in front of the caller's own arguments
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = 'node_modules/vitest/vitest.mjs';
const TEST_ARGS = ['run', '--config', 'test/vitest.config.ts'];

const START_USAGE = `npm start
  runs the whole service on this machine: the API, inference and a private Redis
It takes no arguments. Settings are environment variables, or lines of the file .env:
  ASR_PORT=9000 ASR_MODEL=x-asr-480ms npm start
docs/configuration.md explains each.`;

/** @type {Readonly<Record<string, Command>>} */
const COMMANDS = {
  start: {
    build: 'servers',
    programs: (env) => (env['REDIS_URL']?.trim() ? [] : ['redis-server']),
    run: 'dist/launch/supervisor/start.js',
    usage: START_USAGE,
  },
  api: { build: 'servers', run: 'dist/api/main.js' },
  inference: { build: 'servers', run: 'dist/inference/main.js' },
  status: { build: 'servers', run: 'dist/api/operations/status/main.js' },
  models: { build: 'servers', run: 'dist/models/command/cli.js' },
  test: { programs: () => ['redis-server', 'chromium', 'openssl', 'curl'], run: VITEST, args: TEST_ARGS },
  'test:unit': { run: VITEST, args: [...TEST_ARGS, 'test/unit'] },
  'test:operate': {
    programs: () => ['redis-server', 'openssl', 'curl', 'nginx', 'haproxy', 'pip3', 'prometheus'],
    run: VITEST,
    args: ['run', '--config', 'test/operate/vitest.config.ts'],
  },
  'test:examples': {
    programs: () => ['redis-server'],
    run: VITEST,
    args: ['run', '--config', 'test/examples/vitest.config.ts'],
  },
  'test:docker': { run: VITEST, args: ['run', '--config', 'test/docker/vitest.config.ts'] },
  bench: { build: 'all', programs: () => ['redis-server'], run: 'dist/test/bench/main.js' },
  eval: { build: 'all', run: 'dist/test/eval/main.js' },
  fuzz: { build: 'all', programs: () => ['redis-server'], run: 'dist/test/fuzz/main.js' },
  chaos: { build: 'all', programs: () => ['redis-server'], run: 'dist/test/chaos/main.js' },
  soak: { build: 'all', programs: () => ['redis-server'], run: 'dist/test/soak/main.js' },
  'gpu:install': { run: 'launch/setup/gpu-install.mjs' },
  /** Only the set-up, e.g. for CI. */
  setup: {},
};

/** @param {readonly string[]} argv the command and its arguments */
export async function main([name = '', ...args]) {
  const command = COMMANDS[name];
  if (command === undefined) {
    console.error(`unknown command "${name}": give one of ${Object.keys(COMMANDS).join(', ')}`);
    process.exitCode = 64;
    return;
  }
  // Before the set-up, which may take a minute.
  if (command.usage !== undefined && args.length > 0) {
    explain(name, command.usage, args);
    return;
  }
  process.chdir(root);
  // What is set already wins. The tests choose their settings themselves.
  if (command.build === 'servers' && existsSync('.env')) process.loadEnvFile('.env');
  try {
    const { build: what } = command;
    await withSetupLock(root, async () => {
      await installDependencies(root);
      if (what !== undefined) await shown('building', () => build(root, what), { plain: false });
      await ensurePrograms(command.programs?.(process.env) ?? []);
    });
  } catch (error) {
    console.error(wordsFor(error));
    process.exitCode = 1;
    return;
  }
  if (command.run !== undefined) await become(join(root, command.run), [...(command.args ?? []), ...args]);
}

/**
 * @param {string} name
 * @param {string} usage
 * @param {readonly string[]} args
 */
function explain(name, usage, args) {
  const [wrong] = args.filter((arg) => arg !== '--help' && arg !== '-h');
  if (wrong === undefined) console.log(usage);
  else {
    console.error(`${name}: unknown argument "${wrong}"\n${usage}`);
    process.exitCode = 64;
  }
}

/** @param {unknown} error */
function wordsFor(error) {
  if (error instanceof SetupFailure) return error.message;
  // Of the file system, e.g. in a folder of another user.
  if (error instanceof Error && 'syscall' in error) return `the set-up cannot go on: ${error.message}`;
  return error;
}

/**
 * The program runs in this very process: its signals, exit code, standard input and output are its own, and
 * no process stands between.
 * @param {string} program
 * @param {readonly string[]} args
 */
async function become(program, args) {
  process.argv = [process.execPath, program, ...args];
  await import(pathToFileURL(program).href);
}
