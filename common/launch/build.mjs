import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { doubtRecords } from './build-records.mjs';
import { roomWords } from './files.mjs';
import { quietRun, SetupFailure, say } from './quiet-run.mjs';

/** The projects that `npm start` runs; the tests are not among them, so that an unfinished test stops no server. */
const SERVERS = ['common', 'models', 'api/client', 'api/page', 'api', 'inference'];

/**
 * Compiles what has changed, and bundles the page's scripts. Whether anything has is the compiler's own affair: asking it takes a tenth of a second.
 * @param {string} root
 * @param {'servers' | 'all'} what
 * @throws {SetupFailure} when a server does not compile. A test that does not is shown and stops nothing: the type check is where it counts.
 */
export async function build(root, what) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const projects = what === 'servers' ? SERVERS : [];
  await doubtRecords(root, what === 'servers' ? SERVERS : [...SERVERS, 'test']);
  let run = await quietRun(process.execPath, [tsc, '-b', ...projects], { cwd: root });
  const bundle = join(root, 'api', 'page', 'bundle.mjs');
  if (run.ok && existsSync(bundle)) run = await quietRun(process.execPath, [bundle], { cwd: root });
  const { ok, ending, output } = run;
  if (ok) return;
  say(output.trimEnd());
  if (what !== 'servers') return;
  const room = await roomWords(join(root, 'dist'));
  throw new SetupFailure(`${room}the build failed (tsc -b: ${ending}), see above`);
}
