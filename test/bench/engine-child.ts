/** One engine with one model in a process of its own, so that its peak memory is its own. It recognizes what its parent sends. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PARAFORMER_STEPS } from '../../inference/engine/families/paraformer/streaming-model.ts';
import { zipformerLayout } from '../../inference/engine/families/zipformer/layout.ts';
import { findModelFiles } from '../../inference/engine/onnx/model-files.ts';
import { readOnnxOutline } from '../../inference/engine/onnx/onnx-reader.ts';
import { trailingSilenceSamples } from '../../inference/engine/recording/trailing-silence.ts';
import { OnnxRecognizer } from '../../inference/engine/thread/engine.ts';
import { type OfflineReference, paraformerReference, whisperReference } from '../onnx/offline-reference.ts';
import { ReferenceEngine, type ReferenceModel } from '../onnx/reference-engine.ts';
import { writeStackedWhisper } from '../onnx/stacked-whisper.ts';
import type { WhisperFiles } from '../onnx/whisper.ts';

export interface EngineChildOptions {
  readonly engine: 'ours' | 'sherpa-onnx';
  readonly modelDir: string;
  /** For sherpa-onnx. */
  readonly model: ReferenceModel | { readonly family: 'whisper' } | { readonly family: 'paraformer' };
  readonly threads: number;
}

/** A recording to recognize. sherpa-onnx takes it in one piece, and has one way to do so. */
export interface EngineRequest {
  /** 16 kHz mono PCM16, little-endian. */
  readonly pieces: readonly Buffer[];
  /** What our engine does with the last piece; those before it are accepted. */
  readonly last: 'accept' | 'finish';
}

/** Of a recording. */
export interface Recognized {
  readonly wallMs: number;
  /** Of the process, so far. */
  readonly peakMegabytes: number;
  /** One a piece. */
  readonly calls: readonly { readonly wallMs: number; readonly text: string }[];
}

/** @returns how to recognize each piece of one recording, and how to close it. */
type Open = () => Promise<{
  hear(pcm: Buffer, call: EngineRequest['last']): Promise<string>;
  close(): Promise<void>;
}>;

async function ours({ modelDir, threads }: EngineChildOptions): Promise<Open> {
  const recognizer = new OnnxRecognizer({ providers: ['cpu'], threads });
  await recognizer.load({ id: 'bench', folder: modelDir });
  return async () => {
    const stream = await recognizer.open();
    return { hear: (pcm, call) => stream[call](pcm), close: () => stream.close() };
  };
}

async function sherpa(options: EngineChildOptions): Promise<Open> {
  const recognize = await sherpaRecognize(options);
  return async () => ({ hear: async (pcm) => recognize(pcm), close: async () => {} });
}

async function sherpaRecognize({ modelDir, model, threads }: EngineChildOptions) {
  const files = await findModelFiles(modelDir);
  if (model.family === 'whisper' || model.family === 'paraformer') {
    const engine =
      files.kind === 'single'
        ? paraformerReference(files.model, files.tokens, threads)
        : await stackedWhisper(files, threads);
    return (pcm: Buffer) => engine.recognize(samplesOf(pcm, 0)).text;
  }
  const engine = new ReferenceEngine(modelDir, model, threads);
  const layout =
    model.family === 'streaming-paraformer'
      ? PARAFORMER_STEPS
      : zipformerLayout(await readOnnxOutline(files.kind === 'single' ? files.model : files.encoder));
  return (pcm: Buffer) =>
    engine.recognize(samplesOf(pcm, trailingSilenceSamples(pcm.length / 2, layout))).text;
}

/** The bundled Whisper, written as sherpa-onnx reads it. */
async function stackedWhisper(files: WhisperFiles, threads: number): Promise<OfflineReference> {
  const folder = mkdtempSync(join(tmpdir(), 'stacked-whisper-'));
  try {
    return whisperReference(await writeStackedWhisper(folder, files), { threads });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** From the bytes on, as ours. */
function samplesOf(pcm: Buffer, silenceSamples: number): Float32Array {
  const count = pcm.length / 2;
  const samples = new Float32Array(count + silenceSamples);
  for (let i = 0; i < count; i++) samples[i] = pcm.readInt16LE(2 * i) / 32_768;
  return samples;
}

async function recognize(open: Open, { pieces, last }: EngineRequest): Promise<Recognized> {
  const calls: { wallMs: number; text: string }[] = [];
  const startedAtMs = performance.now();
  const recording = await open();
  for (const [i, pcm] of pieces.entries()) {
    const calledAtMs = performance.now();
    const text = await recording.hear(pcm, i === pieces.length - 1 ? last : 'accept');
    calls.push({ wallMs: performance.now() - calledAtMs, text });
  }
  await recording.close();
  return { wallMs: performance.now() - startedAtMs, peakMegabytes: peakMegabytes(), calls };
}

/** Linux hands the parent's peak on to the child's `maxRSS`; `VmHWM` starts anew with the program. */
function peakMegabytes(): number {
  const status = process.platform === 'linux' ? readFileSync('/proc/self/status', 'latin1') : '';
  const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1] ?? process.resourceUsage().maxRSS;
  return Number(kilobytes) / 1024;
}

const options = JSON.parse(process.argv[2] ?? '{}') as EngineChildOptions;
const opened = options.engine === 'ours' ? ours(options) : sherpa(options);
process.on('message', async (request: EngineRequest) =>
  process.send?.(await recognize(await opened, request)),
);
