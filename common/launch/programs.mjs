import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { lastLines, quietRun, SetupFailure, say } from './quiet-run.mjs';

/** @typedef {'redis-server' | 'chromium' | 'openssl' | 'curl'} ProgramName */

/**
 * @typedef {object} Program
 * @property {readonly string[]} files  names on PATH, or absolute paths
 * @property {string} apt  the package of Debian and its like
 * @property {string} [newerApt]  the one to take where there is one of this name
 * @property {string} brew  what `brew install` takes
 * @property {boolean} needed  without it nothing can go on
 * @property {string} without  what can be done, or what will not work, without it
 */

/** @type {Readonly<Record<ProgramName, Program>>} */
const PROGRAMS = {
  'redis-server': {
    files: ['redis-server'],
    apt: 'redis-server',
    brew: 'redis',
    needed: true,
    without:
      '`npm start` also works with a Redis that runs already: set REDIS_URL, e.g. redis://127.0.0.1:6379',
  },
  chromium: {
    files: [
      // What draws and runs pages, without a browser's windows around it: the tests take half of the processor time.
      'chromium-headless-shell',
      'chromium',
      'chromium-browser',
      'google-chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    ],
    apt: 'chromium',
    newerApt: 'chromium-headless-shell',
    brew: '--cask chromium',
    needed: false,
    without: 'the tests of the recording page will fail (CHROMIUM_PATH names one that is somewhere else)',
  },
  openssl: {
    files: ['openssl'],
    apt: 'openssl',
    brew: 'openssl',
    needed: false,
    without: 'the tests of TLS will fail',
  },
  curl: {
    files: ['curl'],
    apt: 'curl',
    brew: 'curl',
    needed: false,
    without: 'the tests that paste curl lines will fail',
  },
};

/** Where package managers put programs, for a PATH that lacks them. */
const USUAL_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin', '/opt/homebrew/bin'];

/**
 * Looks for the programs, installs what is missing where apt-get can, and says what to do where it cannot.
 * Afterwards all that is there is on PATH, and CHROMIUM_PATH names the browser.
 * @param {readonly ProgramName[]} names
 * @throws {SetupFailure} when one that is needed is not there
 */
export async function ensurePrograms(names) {
  let missing = names.filter((name) => !provide(name));
  // What is looked for in a place of the user's own, apt-get would put into another one.
  const installable = missing.filter((name) => ownPath(name) === undefined);
  if (installable.length > 0 && process.getuid?.() === 0 && find(['apt-get']) !== undefined) {
    await aptInstall(installable);
    missing = missing.filter((name) => !provide(name));
  }
  for (const name of missing) {
    const own = ownPath(name);
    const reason =
      own === undefined
        ? `${name} was not found: ${howToInstall(PROGRAMS[name])}`
        : `CHROMIUM_PATH="${own}": there is nothing that this user can run; correct it, or leave it out`;
    const line = `${reason}. Without it: ${PROGRAMS[name].without}.`;
    if (PROGRAMS[name].needed) throw new SetupFailure(line);
    say(line);
  }
}

/**
 * @param {ProgramName} name
 * @returns {boolean} false when it is not on this machine
 */
function provide(name) {
  const own = ownPath(name);
  const path = find(own === undefined ? PROGRAMS[name].files : [own]);
  if (path === undefined) return false;
  if (name === 'chromium') process.env['CHROMIUM_PATH'] = path;
  else addToPath(dirname(path));
  return true;
}

/** @param {ProgramName} name */
function ownPath(name) {
  return (name === 'chromium' && process.env['CHROMIUM_PATH']) || undefined;
}

/** @param {readonly ProgramName[]} names */
async function aptInstall(names) {
  say(`installing ${names.join(', ')} with apt-get, for the whole machine ...`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // A failed update (one mirror of several away) need not matter; the installation that follows tells.
  const update = await quietRun('apt-get', ['update', '-q'], { env });
  const packages = await Promise.all(names.map((name) => aptPackage(PROGRAMS[name])));
  const install = ['install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', ...packages];
  const { ok, ending, output } = await quietRun('apt-get', install, { env });
  if (ok) say(`installed ${packages.join(', ')}`);
  else
    say(
      `${update.ok ? '' : `${lastLines(update.output, 5)}\n`}${lastLines(output, 8)}\napt-get failed (${ending})`,
    );
}

/** @param {Program} program */
async function aptPackage({ apt, newerApt }) {
  if (newerApt === undefined) return apt;
  const { ok } = await quietRun('apt-cache', ['show', newerApt]);
  return ok ? newerApt : apt;
}

/** @param {Program} program */
function howToInstall({ apt, brew }) {
  switch (process.platform) {
    case 'darwin':
      return `install it with "brew install ${brew}"`;
    case 'win32':
      return 'use the Windows Subsystem for Linux, where it can be installed';
    default:
      return find(['apt-get']) === undefined
        ? 'install it with the package manager of this system'
        : `install it with "sudo apt-get install ${apt}"`;
  }
}

/**
 * @param {readonly string[]} files
 * @returns {string | undefined} the absolute path of the first that can be run
 */
function find(files) {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...USUAL_FOLDERS];
  const candidates = files.flatMap((file) =>
    file.includes('/')
      ? [file]
      : folders.filter((folder) => folder !== '').map((folder) => join(folder, file)),
  );
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** @param {string} folder */
function addToPath(folder) {
  const path = process.env['PATH'] ?? '';
  if (!path.split(delimiter).includes(folder)) process.env['PATH'] = `${path}${delimiter}${folder}`;
}
