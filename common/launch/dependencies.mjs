import { createHash } from 'node:crypto';
import { access, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ifThere, roomWords } from './files.mjs';
import { lastLines, quietRun, SetupFailure, say } from './quiet-run.mjs';

/** @typedef {{ version?: string, optional?: boolean, os?: string[], cpu?: string[], libc?: string[] }} LockedPackage */

/**
 * Brings node_modules to what package-lock.json says, and does nothing when it is there already: that is known by npm's own record of what it
 * installed, as long as the folders are there, and by a stamp in node_modules for what the record leaves open.
 * @param {string} root
 * @throws {SetupFailure}
 */
export async function installDependencies(root) {
  const lock = await readFile(join(root, 'package-lock.json'), 'utf8');
  const stampFile = join(root, 'node_modules', '.setup-stamp');
  const nodeMajor = process.versions.node.split('.')[0];
  const stamp = `${createHash('sha256').update(lock).digest('hex')} node${nodeMajor} ${process.platform}-${process.arch}\n`;
  const stamped = (await ifThere(readFile(stampFile, 'utf8'))) === stamp;
  const missing = await missingPackage(root, lock, stamped);
  if (stamped && missing === undefined) return;

  if (missing !== undefined) {
    await npmCi(root);
    // On a full disk npm says that all went well.
    const still = await missingPackage(root, lock, true);
    if (still !== undefined)
      throw new SetupFailure(
        `${await roomWords(join(root, 'node_modules'))}npm ci reported success, but ${still} is not there: give the same command again.`,
      );
  }
  await writeFile(stampFile, stamp);
}

/**
 * @param {string} root
 * @param {string} lock the text of package-lock.json
 * @param {boolean} stamped npm ci was here for this lock file: its versions, and what it has left out, are right
 * @returns {Promise<string | undefined>} a package that is locked and not installed
 */
async function missingPackage(root, lock, stamped) {
  const record = await ifThere(readFile(join(root, 'node_modules', '.package-lock.json'), 'utf8'));
  const installed = packagesOf(record ?? '');
  const locked = packagesOf(lock);
  if (installed === undefined || locked === undefined) return 'node_modules/.package-lock.json';
  const looks = Object.entries(locked).map(async ([path, entry]) => {
    const mayBeLeftOut = entry.optional === true && (stamped || !isForHere(entry));
    const isAsLocked = installed[path]?.version === entry.version;
    if (path === '' || (mayBeLeftOut && !isAsLocked)) return undefined;
    const isThere = await ifThere(access(join(root, path, 'package.json')).then(() => true));
    return isThere && (stamped || isAsLocked) ? undefined : path;
  });
  return (await Promise.all(looks)).find((missing) => missing !== undefined);
}

/**
 * @param {string} text of a lock file
 * @returns {Record<string, LockedPackage> | undefined} undefined for what is none, e.g. a file that was cut off
 */
function packagesOf(text) {
  try {
    return JSON.parse(text).packages;
  } catch {
    return undefined;
  }
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
  const startedAtMs = Date.now();
  // No setting of the user's (NODE_ENV=production, omit=optional) may leave the compiler out, which is a dev dependency with optional ones
  // of its own, nor stop at what a package says of Node's version (engine-strict): this project runs its tests on those that it names itself;
  // the CUDA files come with `npm run gpu:install` and are never needed to start.
  const kinds = ['dev', 'optional', 'peer'].map((kind) => `--include=${kind}`);
  const args = [
    'ci',
    ...kinds,
    '--install-strategy=hoisted',
    '--no-audit',
    '--no-fund',
    // Or the news of a newer npm would take the place of what went wrong among its last lines.
    '--no-update-notifier',
    '--engine-strict=false',
    '--loglevel=error',
  ];
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' };
  const npmScript = process.env['npm_execpath'];
  const { ok, ending, output } =
    npmScript !== undefined && basename(npmScript) === 'npm-cli.js'
      ? await quietRun(process.execPath, [npmScript, ...args], { cwd: root, env })
      : await quietRun('npm', args, { cwd: root, env });
  if (!ok) {
    const words = output === '' ? '' : `${lastLines(output, 15)}\n\n`;
    const room = await roomWords(root);
    throw new SetupFailure(
      `${words}${room}npm ci failed (${ending})${words === '' ? '' : ', its last lines are above'}. Check the connection to the registry ("npm ping"; behind a proxy: HTTPS_PROXY) and whether this user may write in npm's cache ("npm config get cache"; npm_config_cache names another folder), then give the same command again.`,
    );
  }
  say(`dependencies installed in ${Math.round((Date.now() - startedAtMs) / 1_000)} s`);
}
