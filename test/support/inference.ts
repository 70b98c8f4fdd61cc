import { readInferenceConfig } from '../../common/config/config.ts';
import { createLogger } from '../../common/process/log.ts';
import { createInference, type Inference } from '../../inference/inference.ts';
import { modelFolders } from '../../models/store/store.ts';
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
  modelFolder: string = modelFolders().bundled,
  env: Readonly<Record<string, string>> = {},
): Promise<TestInference> {
  const recognizer = new ScriptedRecognizer();
  prepare(recognizer);
  const log: Record<string, unknown>[] = [];
  const fatal: Error[] = [];
  const ended = deferred<Error>();
  const inference = createInference({
    config: readInferenceConfig({ REDIS_URL: redisUrl, ...env }),
    recognizer,
    log: createLogger('debug', 'inference', { write: (line: string) => void log.push(JSON.parse(line)) }),
    modelFolder,
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
  return { inference, recognizer, log, fatal, stop: () => inference.stop() };
}
