import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere } from './files.mjs';

/** Folders that hold no source of a server or test. */
const SKIPPED = new Set(['node_modules', 'training', 'downloaded']);

/**
 * The compiler believes its records of the last build: it looks neither at what has become of its output since, nor into a source that is
 * older than its record (from rsync or an archive, or after the clock was set back). Where that may have happened, it is made to look.
 * @param {string} root
 * @param {readonly string[]} projects
 */
export async function doubtRecords(root, projects) {
  const tops = [...new Set(projects.map((project) => project.split('/')[0] ?? project))];
  const sources = (await Promise.all(tops.map((top) => sourcesIn(root, top)))).flat();
  const records = projects.map((project) => join(root, 'dist', project, 'tsconfig.tsbuildinfo'));
  if ((await Promise.all(sources.map((source) => hasOutput(root, source)))).includes(false)) {
    await Promise.all(records.map((record) => rm(record, { force: true })));
    return;
  }
  // Unlike a file's time of change, the one of its entry cannot be set: it is when it came here.
  const entries = await Promise.all(sources.map((source) => ifThere(stat(join(root, source)))));
  const newestMs = Math.max(...entries.map((entry) => entry?.ctimeMs ?? 0));
  for (const record of records) {
    const builtAtMs = (await ifThere(stat(record)))?.mtimeMs;
    if (builtAtMs === undefined || (newestMs < builtAtMs && builtAtMs <= Date.now())) continue;
    await utimes(record, 0, 0); // older than all sources, so that the compiler compares their contents
  }
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {Promise<string[]>} paths from the root
 */
async function sourcesIn(root, folder) {
  const entries = (await ifThere(readdir(join(root, folder), { withFileTypes: true }))) ?? [];
  const found = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : sourcesIn(root, path);
    return /\.(ts|mjs)$|^tsconfig\.json$/.test(entry.name) && !entry.name.startsWith('.') ? [path] : [];
  });
  return (await Promise.all(found)).flat();
}

/**
 * @param {string} root
 * @param {string} source
 */
async function hasOutput(root, source) {
  if (!source.endsWith('.ts') || source.endsWith('.d.ts')) return true;
  const output = join(root, 'dist', source.replace(/ts$/, 'js'));
  return ((await ifThere(stat(output)))?.size ?? 0) > 0;
}
