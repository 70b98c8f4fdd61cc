import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';

/** Who may import whom (docs/architecture.md): a folder, and where its imports may lead. */
const ARROWS = {
  'common/': ['common/'],
  'models/': ['models/', 'common/'],
  'inference/': ['inference/', 'models/', 'common/'],
  'api/': ['api/', 'common/'],
  // What runs in a browser takes from `common` only what runs there, too.
  'api/page/': ['api/page/', 'api/client/', 'common/audio/', 'common/messages/'],
  'api/client/': ['api/client/', 'common/audio/', 'common/messages/'],
} as const;

test.each(Object.entries(ARROWS))('%s imports from %j alone', (folder, allowed) => {
  const wrong = importsIn(folder)
    .filter(({ path }) => !allowed.some((prefix) => path.startsWith(prefix)))
    .map(({ file, path }) => `${file} → ${path}`);
  expect(wrong).toEqual([]);
});

/** The rooms in them depend on one another in one direction alone. */
test.each(['common/', 'models/'])('the rooms of %s form no circle', (folder) => {
  const arrows = new Map<string, Set<string>>();
  for (const { file, path } of importsIn(folder)) {
    const [from, to] = [dirname(file), dirname(path)];
    if (from !== to) arrows.set(from, (arrows.get(from) ?? new Set()).add(to));
  }
  const reached = (room: string, seen = new Set<string>()): Set<string> => {
    for (const next of arrows.get(room) ?? []) if (!seen.has(next)) reached(next, seen.add(next));
    return seen;
  };
  expect([...arrows.keys()].filter((room) => reached(room).has(room))).toEqual([]);
});

/** Of each file in a folder, what it imports from this project; paths from its root. */
function importsIn(folder: string): { file: string; path: string }[] {
  const root = packageRoot();
  const listed = execFileSync('git', ['ls-files', `${folder}**/*.ts`, `${folder}*.ts`], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = listed.split('\n').filter((file) => file !== '');
  expect(files).not.toEqual([]);
  return files.flatMap((file) => {
    const imports = readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']*)'/g);
    return Array.from(imports, ([, path = '']) => ({ file, path: normalize(join(dirname(file), path)) }));
  });
}
