import { ModelLoadError } from '../recognizer.ts';
import type { AcousticModel } from './acoustic-model.ts';
import { MEL_BINS } from './kaldi-fbank.ts';
import { findModelFiles } from './model-files.ts';
import { errorText, readModelMetadata } from './model-metadata.ts';
import { NEMO_INPUTS, NemoCtcModel } from './nemo-ctc.ts';
import { loadOnnxModel, type SessionOptions } from './onnx-session.ts';
import { readTokenTable } from './tokens.ts';

/**
 * Loads a model folder and runs one step on it, so that a recording never pays for the first run.
 * @throws ModelLoadError when the files cannot be used, in one line: file, found, expected.
 */
export async function loadAcousticModel(folder: string, options: SessionOptions): Promise<AcousticModel> {
  const model = await loadFolder(folder, options);
  try {
    await model.open().step(new Float32Array(model.windowFrames * MEL_BINS));
  } catch (cause) {
    await model.release();
    throw new ModelLoadError(
      `${folder}: the first run failed (${errorText(cause)}), expected a model that runs`,
      {
        cause,
      },
    );
  }
  return model;
}

async function loadFolder(folder: string, options: SessionOptions): Promise<AcousticModel> {
  const files = await findModelFiles(folder);
  const tokens = await readTokenTable(files.tokens);
  switch (files.kind) {
    case 'single': {
      const metadata = await readModelMetadata(files.model);
      const onnx = await loadOnnxModel(files.model, options);
      try {
        if (NEMO_INPUTS.every((name) => onnx.inputNames.includes(name))) {
          return new NemoCtcModel(onnx, metadata, tokens);
        }
        throw new ModelLoadError(`${onnx.fileName}: unknown family`);
      } catch (cause) {
        await onnx.release();
        throw cause;
      }
    }
    case 'transducer':
      throw new ModelLoadError(`${folder}: transducer not there yet`);
    default:
      return files satisfies never;
  }
}
