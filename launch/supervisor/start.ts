import { ConfigError, EXIT_CONFIG } from '../../common/config/config-error.ts';
import { supervise } from './supervisor.ts';

/** `npm start`: the whole service on this machine, for one person who tries it or works on it. */

/** How long its last lines may take at the end. */
const LINES_WRITTEN_MS = 2_000;

// A full disk, a pipe that nobody reads or a closed terminal costs lines, not the service; Node's console
// forgives only the first error.
for (const output of [process.stdout, process.stderr]) output.on('error', () => {});

try {
  process.exitCode = await supervise(process.env, process.stdout.isTTY === true);
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exitCode = EXIT_CONFIG;
}
// Node itself waits for ever for an output that takes nothing, such as a pipe whose reader stands still.
setTimeout(() => process.exit(), LINES_WRITTEN_MS).unref();
