/**
 * One engine with one model in a process of its own, so that its peak memory is its own. Told by its parent to recognize the clip once
 * more, it answers with the time that took.
 */
import { readFileSync } from 'node:fs';
import { OnnxRecognizer } from '../../inference/engine/engine.ts';
import { isNemoCtc, nemoCtcLayout } from '../../inference/engine/families/nemo-ctc.ts';
import { zipformer2Layout } from '../../inference/engine/families/zipformer2.ts';
import { findModelFiles } from '../../inference/engine/files/model-files.ts';
import { readOnnxOutline } from '../../inference/engine/files/onnx-outline.ts';
import { trailingSilenceSamples } from '../../inference/engine/trailing-silence.ts';
import { ReferenceEngine, type ReferenceModel } from '../onnx/reference-engine.ts';
import { Speech } from './clips.ts';

export interface EngineChildOptions {
  readonly engine: 'ours' | 'sherpa-onnx';
  readonly modelDir: string;
  readonly model: ReferenceModel;
  readonly threads: number;
  readonly clipMs: number;
}

export type EngineChildReply =
  | { readonly type: 'ready' }
  | {
      readonly type: 'recognized';
      readonly wallMs: number;
      readonly cpuMs: number;
      readonly peakMegabytes: number;
    };

type Recognize = () => Promise<void>;

async function ours({ modelDir, threads }: EngineChildOptions, pcm: Buffer): Promise<Recognize> {
  const recognizer = new OnnxRecognizer({ modelDir, modelId: 'bench', providers: ['cpu'], threads });
  await recognizer.load();
  return async () => {
    const stream = await recognizer.open();
    await stream.finish(pcm);
    await stream.close();
  };
}

async function sherpa({ modelDir, model, threads }: EngineChildOptions, pcm: Buffer): Promise<Recognize> {
  const files = await findModelFiles(modelDir);
  const outline = await readOnnxOutline(files.kind === 'single' ? files.model : files.encoder);
  const layout = isNemoCtc(outline) ? nemoCtcLayout(outline) : zipformer2Layout(outline);
  const engine = new ReferenceEngine(modelDir, model, threads);
  const count = pcm.length / 2;
  return async () => {
    // From the bytes on, as ours.
    const samples = new Float32Array(count + trailingSilenceSamples(count, layout));
    for (let i = 0; i < count; i++) samples[i] = pcm.readInt16LE(2 * i) / 32_768;
    engine.recognize(samples);
  };
}

async function main(options: EngineChildOptions): Promise<void> {
  const pcm = (await Speech.read()).pcm(options.clipMs);
  const recognize = await (options.engine === 'ours' ? ours(options, pcm) : sherpa(options, pcm));
  await recognize();
  process.on('message', async () => {
    const cpuBefore = process.cpuUsage();
    const startedAtMs = performance.now();
    await recognize();
    const wallMs = performance.now() - startedAtMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    reply({ type: 'recognized', wallMs, cpuMs: (user + system) / 1000, peakMegabytes: peakMegabytes() });
  });
  reply({ type: 'ready' });
}

/** Linux hands the parent's peak on to the child's `maxRSS`; `VmHWM` starts anew with the program. */
function peakMegabytes(): number {
  const status = process.platform === 'linux' ? readFileSync('/proc/self/status', 'latin1') : '';
  const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1] ?? process.resourceUsage().maxRSS;
  return Number(kilobytes) / 1024;
}

function reply(message: EngineChildReply): void {
  process.send?.(message);
}

await main(JSON.parse(process.argv[2] ?? '{}') as EngineChildOptions);
