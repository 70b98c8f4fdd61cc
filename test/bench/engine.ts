import { writeZipformer1, writeZipformer2 } from '../onnx/model-folder.ts';
import { writeParaformer, writeStreamingParaformer } from '../onnx/paraformer-folder.ts';
import { FIRST_REAL_SIZE, PARAFORMER_SIZES, REAL_SIZES, type RealSize } from '../onnx/real-size.ts';
import { temporaryFolder } from '../support/tools/tool.ts';
import { Speech } from './clips.ts';
import type { EngineChildOptions } from './engine-child.ts';
import { comparison, measureInTurns, threadsText } from './engine-turns.ts';
import type { Goal, Row } from './report.ts';

const TIME_GOAL: Goal = ['≤', 0.9];
export const MEMORY_GOAL: Goal = ['≤', 1.2];
const CLIP_MS = 10_000;
const CHUNK_FRAMES = 32;
const VOCABULARY = ['<blk>', ...Array.from({ length: 4999 }, (_, i) => `t${i}`)];
const JOINER_DIM = 512;

interface BenchModel {
  readonly name: string;
  /** Makes the files in an empty folder, or says where they are. */
  prepare(folder: string): Pick<EngineChildOptions, 'modelDir' | 'model'>;
}

/** Their tokens come as often as characters in speech. sherpa-onnx wants a `</s>`, which here never comes. */
function paraformers(): BenchModel[] {
  const symbols = ['<blank>', '<s>', '</s>', ...Array.from({ length: 8401 }, (_, i) => `t${i}`)];
  const shared = { vocabularySize: symbols.length, bias: { 2: -100 }, seed: 1 };
  return Object.entries(PARAFORMER_SIZES).flatMap(([size, sizes]) =>
    [false, true].flatMap((int8): BenchModel[] => [
      {
        name: `streaming-paraformer ${size}${int8 ? ' int8' : ''}`,
        prepare: (modelDir) => ({
          modelDir,
          model: writeStreamingParaformer(modelDir, { ...shared, sizes, int8 }, symbols),
        }),
      },
      {
        name: `paraformer ${size}${int8 ? ' int8' : ''}`,
        prepare: (modelDir) => {
          writeParaformer(modelDir, { ...shared, sizes, int8 }, symbols);
          return { modelDir, model: { family: 'paraformer' } };
        },
      },
    ]),
  );
}

function firstZipformers(): BenchModel[] {
  return [false, true].map((int8) => ({
    name: `zipformer-transducer 70 M${int8 ? ' int8' : ''}`,
    prepare: (modelDir) => {
      const encoder = { sizes: FIRST_REAL_SIZE, chunkFrames: CHUNK_FRAMES, int8, seed: 1 };
      return { modelDir, model: writeZipformer1(modelDir, encoder, VOCABULARY, JOINER_DIM) };
    },
  }));
}

function secondZipformers(): BenchModel[] {
  return (Object.keys(REAL_SIZES) as RealSize[]).flatMap((size) =>
    (['zipformer2-ctc', 'zipformer2-transducer'] as const).flatMap((family) =>
      [false, true].map((int8) => ({
        name: `${family} ${size}${int8 ? ' int8' : ''}`,
        prepare: (modelDir) => {
          const options = { sizes: REAL_SIZES[size], chunkFrames: CHUNK_FRAMES, int8, seed: 1 } as const;
          const encoder = {
            ...options,
            features: 'kaldi',
            reads: 'levels',
            frontEnd: 'convolutions',
          } as const;
          return { modelDir, model: writeZipformer2(modelDir, family, encoder, VOCABULARY, JOINER_DIM) };
        },
      })),
    ),
  );
}

/** @param only the models with this in their name, such as "25 M" or "transducer" */
export async function measureEngines(repetitions: number, only: string): Promise<Row[]> {
  const rows: Row[] = [];
  const models = [...secondZipformers(), ...firstZipformers(), ...paraformers()];
  for (const model of models.filter(({ name }) => name.includes(only))) {
    console.error(`  ${model.name} ...`);
    rows.push(...(await measureModel(model, repetitions)));
  }
  return rows;
}

/** Both engines: time over the length of the speech, and peak memory. */
async function measureModel({ name, prepare }: BenchModel, repetitions: number): Promise<Row[]> {
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
        comparison(`${title}: real-time factor`, '', (one) => one.wallMs / CLIP_MS, ours, sherpa, TIME_GOAL),
        comparison(`${title}: peak memory`, 'MB', (one) => one.peakMegabytes, ours, sherpa, MEMORY_GOAL),
      );
    }
  } finally {
    folder.remove();
  }
  return rows;
}
