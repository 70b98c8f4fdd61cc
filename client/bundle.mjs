import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const path = (/** @type {string} */ relative) => fileURLToPath(new URL(relative, import.meta.url));

/**
 * Fills the package's `dist`: its programs, with what they take from `common` in them, the compiler's
 * declarations, and the licence. Only `ws` stays outside; the module for browsers imports nothing at all.
 */
for (const [platform, entries] of /** @type {const} */ ([
  ['node', ['node.ts', 'cli/cli.ts']],
  ['browser', ['browser.ts']],
])) {
  await build({
    input: entries.map(path),
    platform,
    external: 'ws',
    tsconfig: false,
    output: { dir: path('dist'), entryFileNames: '[name].js', chunkFileNames: 'shared.js' },
  });
}
// An older build may have left programs there.
const isDeclared = (/** @type {string} */ file) => !/\.(js|tsbuildinfo)$/.test(file);
cpSync(path('../dist/client'), path('dist'), { recursive: true, filter: isDeclared });
// npm takes a licence from the package's own folder alone.
cpSync(path('../LICENSE'), path('dist/LICENSE'));
