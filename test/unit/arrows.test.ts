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
  const root = packageRoot();
  const listed = execFileSync('git', ['ls-files', `${folder}**/*.ts`, `${folder}*.ts`], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = listed.split('\n').filter((file) => file !== '');
  expect(files).not.toEqual([]);
  const wrong = files.flatMap((file) => {
    const imports = readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']*)'/g);
    return Array.from(imports, ([, path = '']) => normalize(join(dirname(file), path)))
      .filter((path) => !allowed.some((prefix) => path.startsWith(prefix)))
      .map((path) => `${file} → ${path}`);
  });
  expect(wrong).toEqual([]);
});
