import { CATALOGUE } from '../catalogue.ts';
import { modelFolders } from '../store/store.ts';
import { type ModelsContext, runCommand } from './command.ts';

type ProcessSettings = Partial<Pick<ModelsContext, 'catalogue' | 'folders'>> & {
  readonly timing?: Omit<ModelsContext['network'], 'env'>;
};

/** Runs the command of `argv` as this process; sets the exit code (130 and 143 after SIGINT and SIGTERM). */
export async function runAsProcess(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  settings: ProcessSettings = {},
): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that has seen enough (`| head -1`) ends this program, too.
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    process.exitCode = signal === 'SIGINT' ? 130 : 143;
    stop.abort(new Error(`stopped by ${signal}`));
  };
  process.once('SIGINT', onSignal);
  process.once('SIGTERM', onSignal);
  try {
    const code = await runCommand(argv, {
      catalogue: settings.catalogue ?? CATALOGUE,
      folders: settings.folders ?? modelFolders(),
      network: { env, ...settings.timing },
      print: (line) => process.stdout.write(`${line}\n`),
      screen: {
        write: (text) => process.stderr.write(text),
        isTerminal: process.stderr.isTTY === true,
        get columns() {
          return process.stderr.columns;
        },
      },
      signal: stop.signal,
    });
    process.exitCode ??= code;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    process.stderr.write('\nstopped; the same command goes on from here\n');
  } finally {
    process.removeListener('SIGINT', onSignal);
    process.removeListener('SIGTERM', onSignal);
  }
}
