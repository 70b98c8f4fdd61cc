import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { senseVoiceLayout } from '../../../../inference/engine/families/sense-voice/layout.ts';
import { SenseVoiceModel } from '../../../../inference/engine/families/sense-voice/model.ts';
import { readOnnxOutline } from '../../../../inference/engine/onnx/onnx-reader.ts';
import { loadOnnxModel } from '../../../../inference/engine/onnx/onnx-session.ts';
import type { EngineModel } from '../../../../inference/engine/recording/engine-model.ts';
import { ReDecodingModel } from '../../../../inference/engine/recording/re-decoding-model.ts';
import { chineseText } from '../../../../inference/engine/text/chinese-text.ts';
import { readTokenTable } from '../../../../inference/engine/text/tokens.ts';
import { type SenseVoiceReferenceOptions, senseVoiceReference } from '../../../onnx/offline-reference.ts';

export const SENSE_VOICE_DIR = join(packageRoot(), 'test/fixtures/sense-voice');
export const SENSE_VOICE_TOKENS = join(SENSE_VOICE_DIR, 'tokens.txt');
/** As the service has it. */
export const CHINESE: SenseVoiceReferenceOptions = { language: 'zh', itn: true };

/** Two engines on the same files with the same options. */
interface SenseVoicePair {
  readonly model: EngineModel;
  /** @returns the text of a whole recording by `model` */
  ours(pcm: Uint8Array): Promise<string>;
  /** @returns sherpa-onnx's, as the service shows texts: without tags, and without spaces between Chinese characters */
  theirs(pcm: Uint8Array): string;
}

/** Released when the test is done. @param tokens path of a tokens.txt. */
export async function loadSenseVoices(
  file: 'model.onnx' | 'model.int8.onnx',
  options: SenseVoiceReferenceOptions,
  tokens: string = SENSE_VOICE_TOKENS,
): Promise<SenseVoicePair> {
  const path = join(SENSE_VOICE_DIR, file);
  const outline = await readOnnxOutline(path);
  const number = (key: string): number => outline.metadata.integer(key, 0, 15);
  const layout = {
    ...senseVoiceLayout(outline),
    language: number(`lang_${options.language}`),
    textNorm: number(options.itn ? 'with_itn' : 'without_itn'),
  };
  const onnx = await loadOnnxModel(path, { providers: ['cpu'], threads: 1, log: () => {} });
  onTestFinished(() => onnx.release());
  const model = new ReDecodingModel(new SenseVoiceModel(onnx, layout, await readTokenTable(tokens)));
  const reference = senseVoiceReference(path, tokens, options);
  return {
    model,
    ours: (pcm) => heard(model, [pcm]),
    theirs: (pcm) => shown(reference.recognize(floats(pcm)).text),
  };
}

/** @returns the final text of a recording that comes in these pieces */
export async function heard(model: EngineModel, pieces: readonly Uint8Array[]): Promise<string> {
  const recording = model.open(new AbortController().signal);
  for (const piece of pieces.slice(0, -1)) await recording.accept(piece);
  return recording.finish(pieces.at(-1) ?? new Uint8Array(0));
}

function floats(pcm: Uint8Array): Float32Array {
  const view = new DataView(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  return Float32Array.from({ length: pcm.length / 2 }, (_, i) => view.getInt16(2 * i, true) / 32_768);
}

function shown(text: string): string {
  return chineseText(new TextEncoder().encode(text.replace(/<[^<>\s]+>/g, '')));
}
