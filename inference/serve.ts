import type { FastifyInstance } from 'fastify';
import type { AdminConfig } from '../common/config/admin.ts';
import { readInferenceConfig } from '../common/config/config.ts';
import { ConfigError, EXIT_CONFIG } from '../common/config/config-error.ts';
import { unknownNames } from '../common/config/known-names.ts';
import { listen } from '../common/process/listen-failure.ts';
import { createLogger } from '../common/process/log.ts';
import {
  endProcess,
  logUnhandledErrors,
  type ShutdownStep,
  shutdownOnSignal,
} from '../common/process/shutdown.ts';
import { HotwordFile } from './engine/postprocessing/hotword-file.ts';
import { OnnxRecognizer } from './engine/thread/engine.ts';
import type { Inference } from './inference.ts';
import { EngineLost } from './model/exclusive-run.ts';
import { ModelLoading } from './model/model-loading.ts';
import { ExecutionProviderError } from './recognizer.ts';

/** The longest stream session, and an upload of 15 s on a slow machine. */
const DRAIN_MS = 40_000;

/**
 * Runs one inference process until a signal ends it. A wrong setting ends it with one line.
 * @param listensItself is called when it listens to signals
 */
export async function serve(listensItself: () => void): Promise<void> {
  try {
    await start(listensItself);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    sayWhy(error.message);
    await endProcess(undefined, EXIT_CONFIG);
  }
}

async function start(listensItself: () => void): Promise<void> {
  // Until a model can be loaded again, the signal does nothing. Without a listener it would end the process.
  let retryLoad = (): void => undefined;
  process.on('SIGHUP', () => retryLoad());
  const config = readInferenceConfig(process.env);
  const log = createLogger(config.logLevel, 'inference');
  logUnhandledErrors(log);
  for (const unknown of unknownNames(process.env)) log.warn(unknown, 'unknown setting');
  const hotwords = config.hotwords === undefined ? undefined : new HotwordFile(config.hotwords, log);
  await hotwords?.load();
  const recognizer = new OnnxRecognizer({
    providers: config.executionProviders,
    threads: config.threads,
    languageModel: config.languageModel,
    log: (line) => log.info(line),
    hotwords: hotwords && (() => hotwords.current()),
  });
  const loading = new ModelLoading({ recognizer, setting: config.model, log });
  let stopSteps = (): ShutdownStep[] => [{ name: 'model', run: () => recognizer.close() }];
  let isInModel = (): boolean => true;
  const forced = (): 1 | 'SIGKILL' => (isInModel() ? 'SIGKILL' : 1);
  const stopping = shutdownOnSignal(['SIGTERM', 'SIGINT'], log, DRAIN_MS, () => stopSteps(), forced);
  listensItself();
  // The engine's thread loads the model while this one loads the store's clients, which takes as long. With
  // an admin port it begins later, because that port may be taken: an exit while the engine's thread is in
  // the runtime ends with SIGABRT instead of the exit code (seen in one of three).
  if (config.admin === undefined) loading.begin();
  // Imported here: most processes do without its SDK.
  const traces = config.traces
    ? [(await import('../common/process/trace-export.ts')).startTraceExport('asr-inference')]
    : [];
  const { createInference } = await import('./inference.ts');
  if (stopping.aborted) return;
  const inference = createInference({
    config,
    loading,
    log,
    onFatal: (error) => {
      // Somebody has to correct a setting, mend the installation or take another machine. It is no fault of
      // ours, so its stack would lead nowhere.
      const isProvider = error instanceof ExecutionProviderError;
      log.fatal(isProvider ? { reason: error.message } : { err: error }, 'ending');
      sayWhy(error.message);
      void endProcess(log, error instanceof EngineLost ? 'SIGKILL' : isProvider ? EXIT_CONFIG : 1);
    },
  });
  let admin: FastifyInstance | undefined;
  const closeAdmin = { name: 'admin', run: async () => admin?.close() };
  stopSteps = () => [...inference.stopSteps(), closeAdmin, ...traces];
  isInModel = () => inference.isInModel();
  retryLoad = () => inference.retryLoad();
  // Before the model: it may take long or not load at all, and that is when somebody looks.
  admin = config.admin && (await serveMetrics(config.admin, inference));
  if (admin !== undefined) log.info({ adminAddress: admin.listeningOrigin }, 'serving metrics');
  await inference.start();
}

/** @throws ConfigError */
async function serveMetrics(config: AdminConfig, inference: Inference): Promise<FastifyInstance> {
  // Imported here: most processes do without a server.
  const { buildAdminServer } = await import('../common/process/admin-server.ts');
  const { registry } = inference.metrics;
  const server = buildAdminServer({ config, registry, askRedis: () => inference.askRedis() });
  await listen(server, config.host, config.port, {
    host: 'ASR_ADMIN_HOST',
    port: 'ASR_INFERENCE_ADMIN_PORT',
  });
  return server;
}

function sayWhy(message: string): void {
  process.stderr.write(`asr inference: ${message}\n`);
}
