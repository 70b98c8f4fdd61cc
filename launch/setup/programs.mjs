import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run, SetupFailure, shown } from './run.mjs';

/** @typedef {'redis-server' | 'chromium' | 'openssl' | 'curl' | 'nginx' | 'haproxy' | 'pip3' | 'prometheus'} ProgramName */

/**
 * @typedef {object} Program
 * @property {readonly string[]} [files]  names on PATH, or absolute paths; its name unless told
 * @property {string} [apt]  the package of Debian and its like; its name unless told
 * @property {string} [newerApt]  taken instead if there is a package of this name
 * @property {string} [brew]  what `brew install` takes; its name unless told
 * @property {true} [needed]  without it nothing can go on
 * @property {string} without  what can be done, or what will not work, without it
 */

/** @type {Readonly<Record<ProgramName, Program>>} */
const PROGRAMS = {
  'redis-server': {
    brew: 'redis',
    needed: true,
    without:
      '`npm start` also works with a Redis that runs already: set REDIS_URL, e.g. redis://127.0.0.1:6379',
  },
  chromium: {
    files: [
      // What draws and runs pages, without a browser's windows around it: the tests take half of the
      // processor time.
      'chromium-headless-shell',
      'chromium',
      'chromium-browser',
      'google-chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    ],
    newerApt: 'chromium-headless-shell',
    brew: '--cask chromium',
    without: 'the tests of the recording page will fail (CHROMIUM_PATH names one that is somewhere else)',
  },
  openssl: { without: 'the tests of TLS will fail' },
  curl: { without: 'the tests that paste curl lines will fail' },
  // Where Debian puts them, which is not on every user's PATH.
  nginx: { files: ['nginx', '/usr/sbin/nginx'], without: 'the tests of deploy/nginx will fail' },
  haproxy: {
    files: ['haproxy', '/usr/sbin/haproxy'],
    without: 'the tests of deploy/kubernetes/haproxy.cfg will fail',
  },
  pip3: {
    apt: 'python3-pip',
    brew: 'python3',
    without: 'the tests of deploy/kubernetes, which fetch kubernetes-validate, will fail',
  },
  prometheus: { without: 'the tests of deploy/prometheus and deploy/grafana will fail' },
};

/**
 * Looks for the programs. Installs what is missing if apt-get can, and says what to do if it cannot.
 * Afterwards CHROMIUM_PATH names the browser. One that the user has named is taken as it is.
 * @param {readonly ProgramName[]} names
 * @throws {SetupFailure} when one that is needed is not there
 */
export async function ensurePrograms(names) {
  let missing = names.filter((name) => !isThere(name));
  if (missing.length > 0 && process.getuid?.() === 0 && find(['apt-get']) !== undefined) {
    await aptInstall(missing);
    missing = missing.filter((name) => !isThere(name));
  }
  for (const name of missing) {
    const { apt = name, brew = name, needed, without } = PROGRAMS[name];
    const howTo = process.platform === 'darwin' ? `brew install ${brew}` : `sudo apt-get install ${apt}`;
    const line = `${name} was not found: install it, e.g. with "${howTo}". Without it: ${without}.`;
    if (needed) throw new SetupFailure(line);
    console.error(line);
  }
}

/** @param {ProgramName} name */
function isThere(name) {
  const { files = [name] } = PROGRAMS[name];
  if (name !== 'chromium') return find(files) !== undefined;
  const path = process.env['CHROMIUM_PATH'] || find(files);
  if (path !== undefined) process.env['CHROMIUM_PATH'] = path;
  return path !== undefined;
}

/** @param {readonly ProgramName[]} names */
async function aptInstall(names) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const what = `installing ${names.join(', ')} with apt-get, for the whole machine`;
  const said = await shown(what, async () => {
    // A failed update (one mirror of several away) need not matter; the installation that follows tells.
    await run('apt-get', ['update', '-q'], { env });
    const packages = await Promise.all(names.map(aptPackage));
    const options = ['-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120'];
    const failure = await run('apt-get', ['install', ...options, ...packages], { env });
    return failure === undefined
      ? `installed ${packages.join(', ')}`
      : `apt-get failed (${failure}), see above`;
  });
  console.error(said);
}

/** @param {ProgramName} name */
async function aptPackage(name) {
  const { apt = name, newerApt } = PROGRAMS[name];
  if (newerApt === undefined) return apt;
  return (await run('apt-cache', ['show', newerApt])) === undefined ? newerApt : apt;
}

/**
 * @param {readonly string[]} files
 * @returns {string | undefined} the absolute path of the first that can be run
 */
function find(files) {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = files.flatMap((file) =>
    file.includes('/') ? [file] : folders.map((folder) => join(folder, file)),
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
