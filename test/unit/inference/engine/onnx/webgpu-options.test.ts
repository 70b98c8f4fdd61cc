import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { InferenceSession } from 'onnxruntime-node';
import { expect, test, vi } from 'vitest';
import { loadOnnxModel } from '../../../../../inference/engine/onnx/onnx-session.ts';
import { SMALL_CTC } from '../../../../support/fixtures.ts';
import { fileFolder } from '../../../../support/folders.ts';

const workDir = fileFolder();

/** What the runtime, which may have no device here, is asked for. */
async function providersAsked(
  path: string,
  providers: readonly ['webgpu' | 'cpu', ...('webgpu' | 'cpu')[]],
): Promise<InferenceSession.SessionOptions['executionProviders']> {
  const session = await InferenceSession.create(join(SMALL_CTC, 'model.onnx'));
  const create = vi.spyOn(InferenceSession, 'create').mockResolvedValue(session);
  await (await loadOnnxModel(path, { providers, threads: 1, log: () => {} })).release();
  // Of several forms its type knows the last one alone.
  const [, options] = create.mock.calls[0] as unknown as [string, InferenceSession.SessionOptions];
  create.mockRestore();
  return options.executionProviders;
}

/** A file with a node of this name and so many outputs, whose weights are in another file. */
function fileWithNode(name: string, outputCount: number): string {
  const node = new BinaryWriter().tag(1, WireType.LengthDelimited).string('x');
  for (let i = 0; i < outputCount; i++) node.tag(2, WireType.LengthDelimited).string(`y${i}`);
  node.tag(3, WireType.LengthDelimited).string(name);
  const weight = new BinaryWriter().tag(8, WireType.LengthDelimited).string('w');
  weight.tag(13, WireType.LengthDelimited).bytes(new Uint8Array());
  const graph = new BinaryWriter().tag(5, WireType.LengthDelimited).bytes(weight.finish());
  graph.tag(1, WireType.LengthDelimited).bytes(node.finish());
  const path = join(workDir, 'model.onnx');
  writeFileSync(path, new BinaryWriter().tag(7, WireType.LengthDelimited).bytes(graph.finish()).finish());
  return path;
}

test('the Split of the small CTC model, too wide for a shader, is left to the CPU', async () => {
  const path = join(SMALL_CTC, 'model.onnx');
  const webgpu = { name: 'webgpu', forceCpuNodeNames: ['/Split'] };
  expect(await providersAsked(path, ['webgpu'])).toEqual([webgpu]);
  expect(await providersAsked(path, ['webgpu', 'cpu'])).toEqual([webgpu, 'cpu']);
  expect(await providersAsked(path, ['cpu'])).toEqual(['cpu']);
});

test.each([
  ['split', 7, ['webgpu']],
  ['split', 8, [{ name: 'webgpu', forceCpuNodeNames: ['split'] }]],
  // Nothing names it to the runtime.
  ['', 8, ['webgpu']],
])('a node "%s" with %i outputs', async (name, outputCount, expected) => {
  expect(await providersAsked(fileWithNode(name, outputCount), ['webgpu'])).toEqual(expected);
});
