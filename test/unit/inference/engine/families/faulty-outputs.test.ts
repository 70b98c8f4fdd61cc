import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { OnnxModel } from '../../../../../inference/engine/onnx/onnx-session.ts';
import { InferenceError } from '../../../../../inference/recognizer.ts';
import { writeEchoModel } from '../../../../onnx/echo.ts';
import { type Fault, writeFaultyModel } from '../../../../onnx/faulty.ts';
import { OnnxGraph } from '../../../../onnx/graph.ts';
import { fileFolder } from '../../../../support/machine/folders.ts';
import { loadError } from '../broken-models.ts';
import { LocalEngine } from '../local-engine.ts';

const workDir = fileFolder();

function folderWith(fault: Fault | undefined): string {
  const folder = mkdtempSync(join(workDir, 'model-'));
  writeFaultyModel(folder, fault);
  return folder;
}

describe('a model whose files fit together and whose outputs do not', () => {
  test('is the only thing wrong with these models', async () => {
    const engine = await LocalEngine.load(folderWith(undefined));
    expect((await engine.recognize(new Uint8Array(32_000))).text).toBe('是');
    await engine.release();
  });

  test.each([
    ['scores are NaN', 'the model gave NaN as scores, expected numbers'],
    ['scores are int64', 'model.onnx: output 0 is int64, expected float32'],
    [
      'scores are too few',
      'model.onnx: output "log_probs" has last dimension 1 in a run, expected 2 as declared',
    ],
    ['states grow', 'model.onnx: Got invalid dimensions for input: cached_conv1_0 .* Got: 2 Expected: 1 .*'],
  ] as const)('does not load: %s', async (fault, reason) => {
    const folder = folderWith(fault);
    expect(await loadError(folder)).toMatch(
      new RegExp(`^${folder}: a run on silence failed \\(${reason}\\), expected a model that runs$`),
    );
  });

  test('frees its graphs when it does not load', async () => {
    const released = vi.spyOn(OnnxModel.prototype, 'release');
    onTestFinished(() => released.mockRestore());
    await loadError(folderWith('scores are NaN'));
    expect(released).toHaveBeenCalledTimes(1);
  });

  test('fails in the run that shows it', async () => {
    const engine = await LocalEngine.load(folderWith('scores are too few when it is loud'));
    expect((await engine.recognize(new Uint8Array(32_000))).text).toBe('是');
    const noise = randomBytes(32_000);
    const error: unknown = await engine.recognize(noise).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(InferenceError);
    expect((error as Error).message).toBe(
      'model.onnx: output "log_probs" has last dimension 1 in a run, expected 2 as declared',
    );
    await engine.release();
  });

  test('does not load: a transducer whose encoder gives smaller frames than it declares', async () => {
    const folder = mkdtempSync(join(workDir, 'transducer-'));
    writeEchoModel(folder, 'zipformer2-transducer', 16, 3);
    const graph = new OnnxGraph();
    graph.input('encoder_out', 'float32', ['N', 3]);
    graph.output('logit', graph.input('decoder_out', 'float32', ['N', 2]), 'float32', ['N', 2]);
    writeFileSync(join(folder, 'joiner.onnx'), graph.build());
    expect(await loadError(folder)).toContain(
      '(encoder.onnx: output "encoder_out" has last dimension 2 in a run, expected 3 as declared)',
    );
  });

  test("does not load: a joiner's scores are int64", async () => {
    const folder = mkdtempSync(join(workDir, 'transducer-'));
    writeEchoModel(folder, 'zipformer2-transducer', 16);
    const graph = new OnnxGraph();
    const encoderOut = graph.input('encoder_out', 'float32', ['N', 2]);
    const decoderOut = graph.input('decoder_out', 'float32', ['N', 2]);
    const scores = graph.op('Cast', [graph.op('Add', [encoderOut, decoderOut])], { to: 7 });
    graph.output('logit', scores, 'int64', ['N', 2]);
    writeFileSync(join(folder, 'joiner.onnx'), graph.build());
    expect(await loadError(folder)).toContain('(joiner.onnx: output 0 is int64, expected float32)');
  });
});
