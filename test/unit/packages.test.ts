import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';

/** One package of the lock file, by its folder; for every platform, installed here or not. */
interface Package {
  readonly dev?: boolean;
  readonly engines?: { readonly node?: string };
  readonly hasInstallScript?: boolean;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
}

/** Each lets the service be given away under its own licence. None asks for the source of what it is part of. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
]);

const { packages }: { packages: Record<string, Package> } = json('package-lock.json');
/** Those of the registry: not the project itself, and not its workspace. */
const DEPENDENCIES = Object.entries(packages).filter(
  ([path, { link }]) => path.startsWith('node_modules/') && !link,
);
const SHIPPED = DEPENDENCIES.filter(([, { dev }]) => !dev);

// npm has left it out for packages of other platforms. It then takes whatever the registry sends.
it('every package has the hash by which npm checks what it fetches', () => {
  const without = DEPENDENCIES.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'));
  expect(without.map(([path]) => path)).toEqual([]);
});

it('allowScripts decides about each package with an install script, and about no other', () => {
  const withScript = DEPENDENCIES.filter(([, { hasInstallScript }]) => hasInstallScript);
  const names = new Set(withScript.map(([path]) => path.replace(/^.*node_modules\//, '')));
  const { allowScripts } = json('package.json');
  expect(Object.keys(allowScripts).sort()).toEqual([...names].sort());
});

it('what is shipped is under licences that this list allows: no copyleft', () => {
  expect(SHIPPED.length).toBeGreaterThan(200);
  const others = SHIPPED.filter(([, { license }]) => !isAllowed(license));
  expect(others.map(([path, { license }]) => `${path}: ${license}`)).toEqual([]);
});

it('what is installed says the same of its licence as the lock file', () => {
  const installed = SHIPPED.filter(([path]) => existsSync(join(packageRoot(), path)));
  const said = installed.map(([path]) => [path, json(`${path}/package.json`).license]);
  expect(said).toEqual(installed.map(([path, { license }]) => [path, license]));
});

// A package that is added here drops a version of Node: say so in docs/deployment.md.
it.each([
  // They run on it all the same: the tests do.
  ['20.19.0', ['node_modules/content-disposition', 'node_modules/cookie']],
  ['22.12.0', []],
  ['24.0.0', []],
])('Node %s is refused by no other package than %j', (version, expected) => {
  // npm leaves an optional one out where it does not fit.
  const needed = DEPENDENCIES.filter(([, { optional }]) => !optional);
  const refusing = needed.filter(([, { engines }]) => !accepts(engines?.node ?? '*', version));
  expect(refusing.map(([path]) => path)).toEqual(expected);
});

/** Whether a range of npm's, in the forms that stand in the lock file, takes a version. */
function accepts(range: string, version: string): boolean {
  const [wanted = 0] = numbersOf(version);
  const fits = ([, operator, bound = '']: RegExpMatchArray): boolean => {
    const [least = 0, next = 0] = numbersOf(bound);
    if (operator === '>=') return wanted >= least;
    if (operator === '<') return wanted < least;
    return wanted >= least && wanted < next;
  };
  const comparators = (part: string) => [...part.matchAll(/(>=|<|\^|)\s*(\d[\d.]*)/g)];
  return range.split('||').some((part) => comparators(part).every(fits));
}

/** A version as a number, and the first of the next major version. */
function numbersOf(version: string): [number, number] {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return [major * 1e6 + minor * 1e3 + patch, (major + 1) * 1e6];
}

/** Of a choice ("MIT OR GPL-3.0-only") every licence must be allowed too: then nobody has to note which one was chosen. */
function isAllowed(license = 'none'): boolean {
  const names = license.match(/[\w.+-]+/g)?.filter((word) => !['AND', 'OR'].includes(word)) ?? [];
  return names.length > 0 && names.every((name) => ALLOWED.has(name));
}

function json(file: string) {
  return JSON.parse(readFileSync(join(packageRoot(), file), 'utf8'));
}
