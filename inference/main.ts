import { readInferenceConfig } from '../common/config/config.ts';
import { ConfigError, EXIT_CONFIG } from '../common/config/config-error.ts';
import { createLogger } from '../common/process/log.ts';
import { endProcess, shutdownOnSignal } from '../common/process/shutdown.ts';
import { ConfiguredRecognizer } from './model/configured-recognizer.ts';
import { EngineLost } from './model/exclusive-run.ts';
import { ExecutionProviderError } from './recognizer.ts';

/** The longest stream session, and an upload of 15 s on a slow machine. */
const DRAIN_MS = 40_000;

async function main(): Promise<void> {
  // Where it means nothing yet it would end the process.
  let retryLoad = (): void => undefined;
  process.on('SIGHUP', () => retryLoad());
  const config = readInferenceConfig(process.env);
  const log = createLogger(config.logLevel, 'inference');
  const recognizer = new ConfiguredRecognizer(config.model, {
    providers: config.executionProviders,
    threads: config.threads,
    log: (line) => log.info(line),
  });
  // Its thread loads the model while this one loads the store's clients, which takes as long.
  recognizer.begin();
  const { createInference } = await import('./inference.ts');
  const inference = createInference({
    config,
    recognizer,
    log,
    modelFolder: recognizer.folder,
    onFatal: (error) => {
      // A setting to correct, an installation to mend or a machine to leave, not a fault of ours: its stack would lead nowhere.
      const isProvider = error instanceof ExecutionProviderError;
      log.fatal(isProvider ? { reason: error.message } : { err: error }, 'ending');
      if (!(error instanceof EngineLost)) end(error.message, isProvider ? EXIT_CONFIG : 1);
      sayWhy(error.message);
      void endProcess(log, 'SIGKILL');
    },
  });
  shutdownOnSignal(['SIGTERM', 'SIGINT'], log, DRAIN_MS, inference.stopSteps, 'SIGKILL');
  retryLoad = () => inference.retryLoad();
  await inference.start();
}

function sayWhy(message: string): void {
  process.stderr.write(`asr inference: ${message}\n`);
}

function end(message: string, exitCode: number): never {
  sayWhy(message);
  process.exit(exitCode);
}

try {
  await main();
} catch (error) {
  if (error instanceof ConfigError) end(error.message, EXIT_CONFIG);
  throw error;
}
