import { writeZipformer2 } from '../onnx/model-folder.ts';
import { REAL_SIZES, type RealSize } from '../onnx/real-size.ts';
import { temporaryFolder } from '../support/tool.ts';
import { Speech } from './clips.ts';
import { comparison, measureInTurns, threadsText } from './engine-turns.ts';
import type { Goal, Row } from './report.ts';

const TIME_GOAL: Goal = ['≤', 0.9];
export const MEMORY_GOAL: Goal = ['≤', 1.2];
const CLIP_MS = 10_000;
const CHUNK_FRAMES = 32;
const VOCABULARY = ['<blk>', ...Array.from({ length: 4999 }, (_, i) => `t${i}`)];
const JOINER_DIM = 512;

/** A generated model of a real size. */
interface StreamingModel {
  readonly name: string;
  readonly family: 'zipformer2-ctc' | 'zipformer2-transducer';
  readonly size: RealSize;
  readonly int8: boolean;
}

const MODELS: readonly StreamingModel[] = (Object.keys(REAL_SIZES) as RealSize[]).flatMap((size) =>
  (['zipformer2-ctc', 'zipformer2-transducer'] as const).flatMap((family) =>
    [false, true].map((int8) => ({ name: `${family} ${size}${int8 ? ' int8' : ''}`, family, size, int8 })),
  ),
);

/** @param only the models with this in their name, such as "25 M" or "transducer" */
export async function measureEngines(repetitions: number, only: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const model of MODELS.filter(({ name }) => name.includes(only))) {
    console.error(`  ${model.name} ...`);
    rows.push(...(await measureModel(model, repetitions)));
  }
  return rows;
}

/** Both engines: time over the length of the speech, and peak memory. */
async function measureModel(
  { name, family, size, int8 }: StreamingModel,
  repetitions: number,
): Promise<Row[]> {
  const pcm = Speech.read().pcm(CLIP_MS);
  const rows: Row[] = [];
  const folder = temporaryFolder();
  const encoder = {
    sizes: REAL_SIZES[size],
    chunkFrames: CHUNK_FRAMES,
    features: 'kaldi',
    int8,
    seed: 1,
    reads: 'levels',
    frontEnd: 'convolutions',
  } as const;
  try {
    const model = writeZipformer2(folder.path, family, encoder, VOCABULARY, JOINER_DIM);
    for (const threads of [1, 2]) {
      console.error(`  ${threadsText(threads)} ...`);
      const options = { modelDir: folder.path, model, threads, last: 'finish' } as const;
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
