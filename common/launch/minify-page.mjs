import { existsSync } from 'node:fs';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Takes out of the page's compiled scripts what a browser does not need: blanks, and the length of names that no other file knows.
 * Only what the compiler has just written, which ends with a line break as terser's output does not, is done; so a second time costs nothing.
 * @param {string} root
 */
export async function minifyPage(root) {
  const folder = join(root, 'dist', 'api', 'page');
  const names = existsSync(folder) ? await readdir(folder) : [];
  for (const name of names.filter((name) => name.endsWith('.js'))) {
    const path = join(folder, name);
    const script = await readFile(path, 'utf8');
    if (!script.endsWith('\n')) continue;
    const { minify } = await import('terser'); // not above: the launcher reads this file before anything is installed
    const { code } = await minify(script, { module: true, compress: false });
    if (code === undefined) throw new Error(`terser made nothing of ${path}`);
    // Not in its place, where half of it, on a disk that is full, would pass for all of it.
    await writeFile(`${path}.new`, code);
    await rename(`${path}.new`, path);
  }
}

// Where the compiler is run by hand: in the Dockerfile and by `npm run build`.
if (process.argv[1] === fileURLToPath(import.meta.url)) await minifyPage(process.cwd());
