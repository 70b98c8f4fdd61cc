import { packageRoot } from '../../../common/process/package-root.ts';
import { build as compile } from '../../../launch/setup/build.mjs';
import { withSetupLock } from '../../../launch/setup/lock.mjs';

/**
 * Before the first test: worker threads and child processes run the compiled program, because Node 20 loads
 * no TypeScript, and browsers the bundled page. Well under a second when the build is up to date. A type
 * error is shown and stops nothing here: `npm run typecheck` is where it counts.
 */
export default async function build(): Promise<void> {
  try {
    await withSetupLock(packageRoot(), () => compile(packageRoot(), 'all'));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
}
