import { createFilterBank, FeatureExtractor } from '../../inference/engine/features/feature-extractor.ts';
import { FrameWindow } from '../../inference/engine/features/frame-window.ts';
import { writeZipformer2 } from '../onnx/model-folder.ts';
import { REAL_SIZES, type RealSize } from '../onnx/real-size.ts';
import type { ReferenceModel } from '../onnx/reference-engine.ts';
import { SMALL_CTC } from '../support/fixtures.ts';
import { temporaryFolder } from '../support/tool.ts';
import { Speech } from './clips.ts';
import { comparison, measureInTurns, threadsText } from './engine-turns.ts';
import type { Goal, Row } from './rows.ts';
import { spread } from './statistics.ts';

const TIME_GOAL: Goal = { relation: '≤', limit: 0.9 };
export const MEMORY_GOAL: Goal = { relation: '≤', limit: 1.2 };
const CLIP_MS = 10_000;
const FEATURES_GOAL: Goal = { relation: '≤', limit: 0.003 };
const CHUNK_FRAMES = 32;
const VOCABULARY = ['<blk>', ...Array.from({ length: 4999 }, (_, i) => `t${i}`)];
const JOINER_DIM = 512;

interface StreamingModel {
  readonly name: string;
  /** Makes the files in an empty folder, or says where they are. */
  prepare(folder: string): { readonly modelDir: string; readonly model: ReferenceModel };
}

function models(): StreamingModel[] {
  const generated = (Object.keys(REAL_SIZES) as RealSize[]).flatMap((size) =>
    (['zipformer2-ctc', 'zipformer2-transducer'] as const).flatMap((family) =>
      [false, true].map((int8) => ({
        name: `${family} ${size}${int8 ? ' int8' : ''}`,
        prepare: (folder: string) => {
          const options = {
            sizes: REAL_SIZES[size],
            chunkFrames: CHUNK_FRAMES,
            features: 'kaldi',
            int8,
          } as const;
          const encoder = { ...options, seed: 1, reads: 'levels', frontEnd: 'convolutions' } as const;
          return {
            modelDir: folder,
            model: writeZipformer2(folder, family, encoder, VOCABULARY, JOINER_DIM),
          };
        },
      })),
    ),
  );
  const small: StreamingModel = {
    name: 'zipformer2-ctc (small)',
    prepare: () => ({ modelDir: SMALL_CTC, model: { family: 'zipformer2-ctc', model: 'model.onnx' } }),
  };
  return [small, ...generated];
}

/** @param only the models with this in their name, such as "25 M" or "transducer" */
export async function measureEngines(repetitions: number, only: string): Promise<Row[]> {
  const rows: Row[] = [featureRow('kaldi', repetitions), featureRow('whisper', repetitions)];
  for (const model of models().filter(({ name }) => name.includes(only))) {
    console.error(`  ${model.name} ...`);
    rows.push(...(await measureModel(model, repetitions)));
  }
  return rows;
}

/** Both engines: wall time and processor time over the length of the speech, and peak memory. */
async function measureModel({ name, prepare }: StreamingModel, repetitions: number): Promise<Row[]> {
  const pcm = Speech.read().pcm(CLIP_MS);
  const rows: Row[] = [];
  const folder = temporaryFolder();
  try {
    const files = prepare(folder.path);
    for (const threads of [1, 2]) {
      console.error(`  ${threadsText(threads)} ...`);
      const options = { ...files, threads, last: 'finish' } as const;
      const { ours, sherpa } = await measureInTurns(
        { ours: { ...options, engine: 'ours' }, sherpa: { ...options, engine: 'sherpa-onnx' } },
        [[pcm]],
        repetitions,
      );
      const title = `${name}, ${threadsText(threads)}`;
      rows.push(
        comparison(
          `${title}: real-time factor`,
          '',
          ({ wallMs }) => wallMs / CLIP_MS,
          ours,
          sherpa,
          TIME_GOAL,
        ),
        comparison(`${title}: processor time`, '', ({ cpuMs }) => cpuMs / CLIP_MS, ours, sherpa),
        comparison(
          `${title}: peak memory`,
          'MB',
          ({ peakMegabytes }) => peakMegabytes,
          ours,
          sherpa,
          MEMORY_GOAL,
        ),
      );
    }
  } finally {
    folder.remove();
  }
  return rows;
}

function featureRow(features: 'kaldi' | 'whisper', repetitions: number): Row {
  const clipMs = 15_000;
  const pcm = Speech.read().pcm(clipMs);
  const samples = Float32Array.from({ length: pcm.length / 2 }, (_, i) => pcm.readInt16LE(2 * i) / 32_768);
  const filterBank = createFilterBank(features);
  const extract = (): number => {
    const before = process.cpuUsage();
    const extractor = new FeatureExtractor(filterBank);
    const window = new FrameWindow(45, CHUNK_FRAMES);
    for (let next = 0; next < samples.length; ) {
      next = extractor.accept(samples, next, window);
      if (window.full) window.advance();
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / clipMs;
  };
  const first = extract();
  const value = {
    what: 'ours',
    unit: '',
    spread: spread(Array.from({ length: repetitions }, extract)),
  } as const;
  console.error(`${features} features, first time: ${first.toFixed(4)}`);
  return { name: `${features} features: processor time`, value, goal: FEATURES_GOAL };
}
