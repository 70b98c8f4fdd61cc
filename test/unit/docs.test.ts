import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { isIgnored, pathsIn, read } from '../support/tools/project-files.ts';

/** Files and folders of the project, relative to its root. */
const PATHS = pathsIn('');
const KNOWN = new Set(PATHS);
const PAGES = PATHS.filter(
  (path) =>
    path.endsWith('.md') &&
    !['CHANGELOG.md', 'test/fixtures/', 'models/bundled/'].some((other) => path.startsWith(other)),
).map((path) => ({ path, text: read(path) }));

const folders = PATHS.filter(
  (path) => !path.includes('/') && statSync(join(packageRoot(), path)).isDirectory(),
);
/** A path from the root, not the end of a longer one or of an address. `*` stands for any part of a name, as NAME and ROOM do. */
const NAMED_PATH = new RegExp(
  `(?<![\\w./…}$-])(?:${folders.join('|').replaceAll('.', '\\.')})/[\\w.*/-]*`,
  'g',
);

describe.each(PAGES)('$path', ({ path, text }) => {
  it('links to what exists', () => {
    expect(links(text).filter((link) => !leadsSomewhere(path, link))).toEqual([]);
  });

  it('names files that exist', () => {
    expect(namedPaths(text).filter((named) => !isThere(named))).toEqual([]);
  });

  it('has lines that fit a screen', () => {
    const [columns, isCounted] =
      path === 'README.md' ? [120, () => true] : [160, (line: string) => !line.startsWith('|')];
    const long = text.split('\n').filter((line) => isCounted(line) && line.length > columns);
    expect(long).toEqual([]);
  });
});

it('README.md is read to its end', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(200);
});

/** Targets of links and pictures within the project. What begins with a slash or a placeholder is an address of the service. */
function links(text: string): string[] {
  const outsideCode = text.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]*`/g, '');
  const targets = [...outsideCode.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^([a-z]+:|\/|\{)/.test(target));
}

function leadsSomewhere(page: string, link: string): boolean {
  const [file = '', heading] = decodeURI(link).split('#');
  const target = file === '' ? page : join(dirname(page), file).replace(/\/$/, '');
  if (!KNOWN.has(target)) return false;
  return heading === undefined || headings(read(target)).includes(heading);
}

/** As GitHub makes them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** In code, within a line or in a block of its own. */
function namedPaths(text: string): string[] {
  const code = [...text.matchAll(/^```.*?^```$|`[^`\n]+`|^ {4}.*$/gms)].map(([span]) => span);
  return code.flatMap((span) => span.match(NAMED_PATH) ?? []).map((path) => path.replace(/[./]+$/, ''));
}

function isThere(path: string): boolean {
  if (isIgnored(path) || KNOWN.has(path)) return true;
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replace(/\*|\b(NAME|ROOM)\b/g, '[^/]*')}$`);
  return PATHS.some((known) => pattern.test(known));
}
