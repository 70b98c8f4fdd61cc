import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { lastLines, quietRun, SetupFailure, say } from './quiet-run.mjs';

/** @typedef {{ version?: string, optional?: boolean, os?: string[], cpu?: string[], libc?: string[] }} LockedPackage */

/**
 * Brings node_modules to what package-lock.json says, and does nothing when it is there already: that is known by a stamp in node_modules,
 * or else (packages installed by hand) by npm's own record of what it installed.
 * @param {string} root
 * @throws {SetupFailure}
 */
export async function installDependencies(root) {
  const lock = await readFile(join(root, 'package-lock.json'), 'utf8');
  const stampFile = join(root, 'node_modules', '.setup-stamp');
  const nodeMajor = process.versions.node.split('.')[0];
  const stamp = `${createHash('sha256').update(lock).digest('hex')} node${nodeMajor} ${process.platform}-${process.arch}\n`;
  if ((await readIfThere(stampFile)) === stamp) return;

  const installed = await readIfThere(join(root, 'node_modules', '.package-lock.json'));
  if (installed === undefined || !holdsAll(JSON.parse(installed).packages, JSON.parse(lock).packages)) {
    await npmCi(root);
  }
  await writeFile(stampFile, stamp);
}

/**
 * @param {Record<string, LockedPackage>} installed
 * @param {Record<string, LockedPackage>} locked
 */
function holdsAll(installed, locked) {
  return Object.entries(locked).every(
    ([path, entry]) =>
      path === '' ||
      installed[path]?.version === entry.version ||
      (entry.optional === true && !isForHere(entry)),
  );
}

/**
 * An optional package without a platform may be left out for reasons of its own, so only one that names this platform counts as missing.
 * @param {LockedPackage} entry
 */
function isForHere({ os, cpu, libc }) {
  return (
    libc === undefined && os?.includes(process.platform) === true && cpu?.includes(process.arch) === true
  );
}

/** @param {string} root */
async function npmCi(root) {
  say('installing dependencies with npm ci (about half a minute) ...');
  const startedAt = Date.now();
  // NODE_ENV=production must not leave the compiler out; the CUDA files come with `npm run gpu:install` and are never needed to start.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' };
  const npmScript = process.env['npm_execpath'];
  const { ok, ending, output } =
    npmScript !== undefined && basename(npmScript) === 'npm-cli.js'
      ? await quietRun(process.execPath, [npmScript, ...args], { cwd: root, env })
      : await quietRun('npm', args, { cwd: root, env });
  if (!ok) {
    throw new SetupFailure(
      `${lastLines(output, 15)}\n\nnpm ci failed (${ending}), its last lines are above. Check the connection to the registry ("npm ping"; behind a proxy: HTTPS_PROXY), then give the same command again.`,
    );
  }
  say(`dependencies installed in ${Math.round((Date.now() - startedAt) / 1_000)} s`);
}

/**
 * @param {string} path
 * @returns {Promise<string | undefined>}
 */
async function readIfThere(path) {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
