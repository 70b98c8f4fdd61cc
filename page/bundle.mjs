import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const path = (/** @type {string} */ relative) => fileURLToPath(new URL(relative, import.meta.url));

/**
 * Puts the page's scripts, with what they take from the client, into `dist/page`: main.js, and the audio
 * worklet, which a browser loads by itself. No name holds a hash, because the server has each file
 * revalidated by its ETag.
 */
for (const entry of ['main.ts', 'recording/capture-worklet.ts']) {
  await build({
    input: path(entry),
    platform: 'browser',
    tsconfig: false,
    output: {
      dir: path('../dist/page'),
      entryFileNames: '[name].js',
      chunkFileNames: '[name].js',
      minify: true,
      comments: false,
    },
  });
}
