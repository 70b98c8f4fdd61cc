import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../../common/package-root.ts';

const COMPILED = `import { sep } from 'node:path';
/** How it is compiled. */
function greetingOf(visitor) {
    const withTitle = \`Dr. \${visitor}  (\${sep})\`;
    return { withTitle, words: 'if (a) { b }' };
}
export const greeting = greetingOf('Ada');
`;

let root: string;
let script: string;

function minifyPage(): void {
  execFileSync(process.execPath, [join(packageRoot(), 'common/launch/minify-page.mjs')], { cwd: root });
}

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'asr-minify-'));
  onTestFinished(() => rm(root, { recursive: true }));
  script = join(root, 'dist/api/page/greeting.js');
  await mkdir(join(root, 'dist/api/page'), { recursive: true });
});

it('takes blanks, comments and the names that no other file knows, and leaves what the script does', async () => {
  await writeFile(script, COMPILED);
  const { greeting } = await import(`${pathToFileURL(script).href}?compiled`);
  minifyPage();
  const minified = await readFile(script, 'utf8');
  expect(minified.length).toBeLessThan(COMPILED.length * 0.65);
  for (const gone of ['visitor', 'greetingOf', 'How it is', '    ']) expect(minified).not.toContain(gone);
  expect((await import(`${pathToFileURL(script).href}?minified`)).greeting).toEqual(greeting);
});

it('leaves what it has minified, and what is no script', async () => {
  const types = script.replace(/js$/, 'd.ts');
  await writeFile(script, COMPILED);
  await writeFile(types, 'export declare const greeting: object;\n');
  minifyPage();
  const first = await stat(script, { bigint: true });
  minifyPage();
  expect((await stat(script, { bigint: true })).mtimeNs).toBe(first.mtimeNs);
  expect(await readFile(types, 'utf8')).toBe('export declare const greeting: object;\n');
});

it('goes well where no page was compiled', async () => {
  await rm(join(root, 'dist'), { recursive: true });
  minifyPage();
});
