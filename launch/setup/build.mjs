import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run, SetupFailure } from './run.mjs';

/**
 * The projects that `npm start` runs; the tests are not among them, so that an unfinished test stops no
 * server.
 */
const SERVERS = ['common', 'models', 'client', 'page', 'launch', 'api', 'inference'];

/**
 * Compiles what has changed, which is the compiler's own affair to know, and bundles the client and the
 * page's scripts.
 * @param {string} root
 * @param {'servers' | 'all'} what
 * @throws {SetupFailure} when something does not compile
 */
export async function build(root, what) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const projects = what === 'servers' ? SERVERS.map((project) => join(root, project)) : [root];
  const failure = await run(process.execPath, [tsc, '-b', ...projects], { output: 'stderr' });
  if (failure !== undefined) throw new SetupFailure(`the build failed (tsc -b: ${failure}), see above`);
  for (const part of ['client', 'page']) {
    const bundle = join(root, part, 'bundle.mjs');
    const unbundled = existsSync(bundle)
      ? await run(process.execPath, [bundle], { output: 'stderr' })
      : undefined;
    if (unbundled !== undefined)
      throw new SetupFailure(`the ${part} is not bundled (${unbundled}), see above`);
  }
}
