import { spawnSync } from 'node:child_process';
import { packageRoot } from '../../common/package-root.ts';

/**
 * Before the first test: worker threads and child processes run the compiled program, because Node 20 loads no TypeScript, and browsers
 * the bundled page. Well under a second when the build is up to date. A type error is shown and stops nothing here: `npm run typecheck` is where it counts.
 */
export default function build(): void {
  for (const step of [['node_modules/typescript/bin/tsc', '-b'], ['api/page/bundle.mjs']]) {
    spawnSync(process.execPath, step, { cwd: packageRoot(), stdio: 'inherit' });
  }
}
