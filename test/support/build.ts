import { spawnSync } from 'node:child_process';
import { packageRoot } from '../../common/package-root.ts';

/**
 * Before the first test: worker threads and child processes run the compiled program, because Node 20 loads no TypeScript. Well under a
 * second when the build is up to date. A type error is shown and stops nothing here: `npm run typecheck` is where it counts.
 */
export default function build(): void {
  spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-b'], {
    cwd: packageRoot(),
    stdio: 'inherit',
  });
}
