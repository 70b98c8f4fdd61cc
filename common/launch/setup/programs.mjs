import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run, SetupFailure } from './run.mjs';

/** @typedef {'redis-server' | 'chromium' | 'openssl' | 'curl' | 'nginx' | 'haproxy' | 'pip3' | 'prometheus'} ProgramName */

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
  nginx: {
    // Where Debian puts it, which is not on every user's PATH.
    files: ['nginx', '/usr/sbin/nginx'],
    apt: 'nginx',
    brew: 'nginx',
    needed: false,
    without: 'the tests of deploy/nginx will fail',
  },
  haproxy: {
    files: ['haproxy', '/usr/sbin/haproxy'],
    apt: 'haproxy',
    brew: 'haproxy',
    needed: false,
    without: 'the tests of deploy/kubernetes/haproxy.cfg will fail',
  },
  pip3: {
    files: ['pip3'],
    apt: 'python3-pip',
    brew: 'python3',
    needed: false,
    without: 'the tests of deploy/kubernetes, which fetch kubernetes-validate, will fail',
  },
  prometheus: {
    files: ['prometheus'],
    apt: 'prometheus',
    brew: 'prometheus',
    needed: false,
    without: 'the tests of deploy/prometheus and deploy/grafana will fail',
  },
};

/**
 * Looks for the programs, installs what is missing where apt-get can, and says what to do where it cannot.
 * Afterwards CHROMIUM_PATH names the browser; one that the user has named is taken as it is.
 * @param {readonly ProgramName[]} names
 * @throws {SetupFailure} when one that is needed is not there
 */
export function ensurePrograms(names) {
  let missing = names.filter((name) => !isThere(name));
  if (missing.length > 0 && process.getuid?.() === 0 && find(['apt-get']) !== undefined) {
    aptInstall(missing);
    missing = missing.filter((name) => !isThere(name));
  }
  for (const name of missing) {
    const { apt, brew, needed, without } = PROGRAMS[name];
    const howTo = process.platform === 'darwin' ? `brew install ${brew}` : `sudo apt-get install ${apt}`;
    const line = `${name} was not found: install it, e.g. with "${howTo}". Without it: ${without}.`;
    if (needed) throw new SetupFailure(line);
    console.error(line);
  }
}

/** @param {ProgramName} name */
function isThere(name) {
  if (name === 'chromium') {
    const path = process.env['CHROMIUM_PATH'] || find(PROGRAMS.chromium.files);
    if (path !== undefined) process.env['CHROMIUM_PATH'] = path;
    return path !== undefined;
  }
  return find(PROGRAMS[name].files) !== undefined;
}

/** @param {readonly ProgramName[]} names */
function aptInstall(names) {
  console.error(`installing ${names.join(', ')} with apt-get, for the whole machine ...`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // A failed update (one mirror of several away) need not matter; the installation that follows tells.
  run('apt-get', ['update', '-q'], { env });
  const packages = names.map((name) => aptPackage(PROGRAMS[name]));
  const install = ['install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', ...packages];
  const failure = run('apt-get', install, { env });
  console.error(
    failure === undefined ? `installed ${packages.join(', ')}` : `apt-get failed (${failure}), see above`,
  );
}

/** @param {Program} program */
function aptPackage({ apt, newerApt }) {
  return newerApt !== undefined && run('apt-cache', ['show', newerApt]) === undefined ? newerApt : apt;
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
