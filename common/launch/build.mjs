import { join } from 'node:path';
import { quietRun, SetupFailure, say } from './quiet-run.mjs';

/** The projects that `npm start` runs; the tests are not among them, so that an unfinished test stops no server. */
const SERVERS = ['common', 'models', 'api', 'api/page', 'inference'];

/**
 * Compiles what has changed. Whether anything has is the compiler's own affair: asking it takes a tenth of a second.
 * @param {string} root
 * @param {'servers' | 'all'} what
 * @throws {SetupFailure} when a server does not compile. A test that does not is shown and stops nothing: the type check is where it counts.
 */
export async function build(root, what) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const projects = what === 'servers' ? SERVERS : [];
  const { ok, ending, output } = await quietRun(process.execPath, [tsc, '-b', ...projects], { cwd: root });
  if (ok) return;
  say(output.trimEnd());
  if (what === 'servers') throw new SetupFailure(`the build failed (tsc -b: ${ending}), see above`);
}
