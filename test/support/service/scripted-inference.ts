/**
 * A real inference process with the scripted recognizer, for tests that kill, stop and signal it; talks to
 * `inference-process.ts`.
 */
import { readInferenceConfig } from '../../../common/config/config.ts';
import { createLogger } from '../../../common/process/log.ts';
import { shutdownOnSignal } from '../../../common/process/shutdown.ts';
import { createInference } from '../../../inference/inference.ts';
import { ModelLoading } from '../../../inference/model/model-loading.ts';
import type { FromProcess, ToProcess } from './inference-process.ts';
import { type Gate, ScriptedRecognizer } from './scripted-recognizer.ts';

const tell = (message: FromProcess): void => void process.send?.(message);

const recognizer = new ScriptedRecognizer();
recognizer.onCall = (call) => tell({ type: 'call', call });
const gates: Gate[] = [];
process.on('message', (message: ToProcess) => {
  if (message.type === 'release') return gates.shift()?.release();
  if (message.type === 'crash') process.exit(1);
  const gate = recognizer.hold();
  gates.push(gate);
  void gate.entered.then(() => tell({ type: 'held' }));
  tell({ type: 'holding' });
});

const log = createLogger('info', 'inference');
const inference = createInference({
  config: readInferenceConfig(process.env),
  loading: new ModelLoading({ recognizer, setting: 'bundled', log }),
  log,
  onFatal: (error) => {
    throw error;
  },
});
shutdownOnSignal(['SIGTERM', 'SIGINT'], log, 40_000, inference.stopSteps);
await inference.start();
tell({ type: 'ready' });
