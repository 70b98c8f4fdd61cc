import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { pathsIn, read } from '../support/tools/project-files.ts';

/** Who may import whom (docs/architecture.md): a folder, and where its imports may lead. */
const ARROWS = {
  'common/': ['common/'],
  'models/': ['models/', 'common/'],
  'inference/': ['inference/', 'models/', 'common/'],
  'api/': ['api/', 'common/'],
  'launch/': ['launch/', 'models/', 'common/'],
  // What runs in a browser takes from `common` only what runs there, too.
  'page/': ['page/', 'client/', 'common/audio/', 'common/messages/'],
  'client/': [
    ...['client/', 'common/audio/', 'common/errors/'],
    ...['common/time/deferred.ts', 'common/time/tenths.ts'],
  ],
} as const;

test.each(Object.entries(ARROWS))('%s imports from %j alone', (folder, allowed) => {
  const wrong = importsIn(folder)
    .filter(({ path }) => !allowed.some((prefix) => path.startsWith(prefix)))
    .map(({ file, path }) => `${file} → ${path}`);
  expect(wrong).toEqual([]);
});

/** At any depth, what lies side by side in a folder (rooms, files) depends on one another in one direction alone. */
test.each(['common', 'models', 'client', 'page', 'launch', 'inference', 'api'])(
  'no rooms of %s form a circle',
  (top) => {
    const arrows = new Map<string, Set<string>>();
    for (const { file, path } of importsIn(`${top}/`)) {
      if (!path.startsWith(`${top}/`)) continue;
      const [from, to] = [file.split('/'), path.split('/')];
      const fork = from.findIndex((name, depth) => name !== to[depth]);
      const sibling = (parts: string[]): string => parts.slice(0, fork + 1).join('/');
      arrows.set(sibling(from), (arrows.get(sibling(from)) ?? new Set()).add(sibling(to)));
    }
    const reached = (room: string, seen = new Set<string>()): Set<string> => {
      for (const next of arrows.get(room) ?? []) if (!seen.has(next)) reached(next, seen.add(next));
      return seen;
    };
    expect([...arrows.keys()].filter((room) => reached(room).has(room))).toEqual([]);
  },
);

/**
 * Of each file in a folder, what it imports from this project; paths from its root. Who uses a member that another
 * file declares of a library's type (`declare module`) depends on that file, too.
 */
function importsIn(folder: string): { file: string; path: string }[] {
  const files = pathsIn(folder).filter((path) => /\.(ts|mjs)$/.test(path));
  expect(files).not.toEqual([]);
  const declared = files.flatMap((path) => {
    const [, members = ''] =
      /^declare module '[^.'][^']*' \{\n {2}interface (.*?)\n {2}\}/ms.exec(read(path)) ?? [];
    return Array.from(members.matchAll(/^ {4}(\w+)\?:/gm), ([, name]) => ({ path, use: `request.${name}` }));
  });
  return files.flatMap((file) => {
    const text = read(file);
    const imports = text.matchAll(/(?:from|import\()\s*'(\.[^']*)'/g);
    const uses = declared.filter(({ path, use }) => path !== file && text.includes(use));
    return [
      ...Array.from(imports, ([, path = '']) => ({ file, path: normalize(join(dirname(file), path)) })),
      ...uses.map(({ path }) => ({ file, path })),
    ];
  });
}

test('a declaration of a library’s type is an arrow to the file that makes it', () => {
  expect(importsIn('api/')).toContainEqual({
    file: 'api/routes/transcriptions.ts',
    path: 'api/operations/request-reports.ts',
  });
});
