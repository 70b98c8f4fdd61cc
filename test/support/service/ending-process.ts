/**
 * Stops its ENDING_PART when the log says ENDING_AT, and has no other end than that nothing is left: what
 * `stop()` leaves open keeps the process.
 */
import { readApiConfig, readInferenceConfig } from '../../../common/config/config.ts';
import { createLogger } from '../../../common/process/log.ts';
import { runSteps } from '../../../common/process/shutdown.ts';
import { deferred, ScriptedRecognizer } from './scripted-recognizer.ts';

const endingAt = process.env['ENDING_AT'] ?? '';
const reached = deferred<void>();
const destination = {
  write: (line: string): void => {
    process.stdout.write(line);
    if (line.includes(endingAt)) reached.resolve();
  },
};

// Each loads its own part alone: that is most of what such a process costs.
async function inference(): Promise<void> {
  const { createInference } = await import('../../../inference/inference.ts');
  const { ModelLoading } = await import('../../../inference/model/model-loading.ts');
  const log = createLogger('info', 'inference', destination);
  const inference = createInference({
    config: readInferenceConfig(process.env),
    loading: new ModelLoading({ recognizer: new ScriptedRecognizer(), setting: 'bundled', log }),
    log,
    onFatal: (error) => {
      throw error;
    },
  });
  void inference.start();
  await reached.promise;
  await inference.stop();
}

async function api(): Promise<void> {
  const [{ buildApp }, { ApiMetrics }, { createServices }] = await Promise.all([
    import('../../../api/app.ts'),
    import('../../../api/operations/metrics.ts'),
    import('../../../api/services.ts'),
  ]);
  const config = readApiConfig({ ...process.env, ASR_API_TOKEN: 'test-token-0123456789', ASR_PORT: '0' });
  const log = createLogger('info', 'api', destination);
  const services = createServices(config, log);
  const app = await buildApp({ config, services, metrics: new ApiMetrics(services), log });
  await app.listen({ host: '127.0.0.1', port: config.port });
  log.info('serving');
  await reached.promise;
  await runSteps(log, [{ name: 'http', run: async () => app.close() }, ...services.closing]);
}

await (process.env['ENDING_PART'] === 'api' ? api() : inference());
