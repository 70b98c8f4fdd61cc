import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, SetupFailure, shown } from './run.mjs';

/** @typedef {Record<string, { version?: string, optional?: boolean }>} Packages by their folder; '' is the project itself */

/**
 * Runs `npm ci` unless node_modules is what package-lock.json says, by npm's own record there.
 * @param {string} root
 * @throws {SetupFailure}
 */
export async function installDependencies(root) {
  if (isInstalled(root)) return;
  const startedAtMs = Date.now();
  // The compiler is a dev dependency with optional ones of its own: NODE_ENV=production must not leave it
  // out. With engine-strict some packages refuse Node 20, on which the tests run all the same.
  const kinds = ['dev', 'optional', 'peer'].map((kind) => `--include=${kind}`);
  const args = ['ci', ...kinds, '--engine-strict=false', '--loglevel=error', '--no-progress'];
  // The CUDA files are hundreds of megabytes, and nothing needs them to start. `npm run gpu:install` fetches
  // them.
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' };
  const what = 'installing dependencies with npm ci (about half a minute)';
  const failure = await shown(what, () => run('npm', args, { env }));
  if (failure !== undefined)
    throw new SetupFailure(
      `npm ci failed (${failure}). Check the connection to the registry ("npm ping"; behind a proxy: HTTPS_PROXY) and whether this user may write in npm's cache ("npm config get cache"), then give the same command again.`,
    );
  console.error(`dependencies installed in ${Math.round((Date.now() - startedAtMs) / 1_000)} s`);
}

/**
 * Optional packages are left out of the comparison: npm installs those of this platform only.
 * @param {string} root
 */
function isInstalled(root) {
  const record = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const installed = packagesOf(record);
  return Object.entries(packagesOf(join(root, 'package-lock.json'))).every(
    ([path, { version, optional }]) =>
      path === '' || optional || (path in installed && installed[path]?.version === version),
  );
}

/**
 * @param {string} file
 * @returns {Packages}
 */
function packagesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}
