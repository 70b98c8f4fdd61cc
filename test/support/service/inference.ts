import { readInferenceConfig } from '../../../common/config/config.ts';
import { createLogger } from '../../../common/process/log.ts';
import { createInference, type Inference } from '../../../inference/inference.ts';
import { ModelLoading } from '../../../inference/model/model-loading.ts';
import { deferred, ScriptedRecognizer } from './scripted-recognizer.ts';

/** An inference "process" inside the test's own, with the scripted recognizer. */
export interface TestInference {
  readonly inference: Inference;
  readonly recognizer: ScriptedRecognizer;
  /** Every line it logged, parsed. */
  readonly log: Record<string, unknown>[];
  /** What would have ended the process. */
  readonly fatal: Error[];
  stop(): Promise<void>;
}

/** @param prepare e.g. makes the first load fail. @throws what would have ended the process before it was started */
export async function startInference(
  redisUrl: string,
  prepare: (recognizer: ScriptedRecognizer) => void = () => {},
  env: Readonly<Record<string, string>> = {},
): Promise<TestInference> {
  const recognizer = new ScriptedRecognizer();
  prepare(recognizer);
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('debug', 'inference', {
    write: (line: string) => void lines.push(JSON.parse(line)),
  });
  const fatal: Error[] = [];
  const ended = deferred<Error>();
  const inference = createInference({
    config: readInferenceConfig({ REDIS_URL: redisUrl, ...env }),
    loading: new ModelLoading({ recognizer, setting: 'bundled', log }),
    log,
    onFatal: (error) => {
      fatal.push(error);
      ended.resolve(error);
    },
  });
  const failure = await Promise.race([inference.start(), ended.promise]);
  if (failure) {
    await inference.stop();
    throw failure;
  }
  return { inference, recognizer, log: lines, fatal, stop: () => inference.stop() };
}
