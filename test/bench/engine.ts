/** `npm run bench -- engine`: our engine against sherpa-onnx, on the same files and samples, in turns. */
import { parseArgs } from 'node:util';
import { createFilterBank, FeatureExtractor } from '../../inference/engine/features/feature-extractor.ts';
import { FrameWindow } from '../../inference/engine/features/frame-window.ts';
import { writeZipformer2 } from '../onnx/model-folder.ts';
import { REAL_SIZES, type RealSize } from '../onnx/real-size.ts';
import type { ReferenceModel } from '../onnx/reference-engine.ts';
import { SMALL_CTC } from '../support/real-service.ts';
import { runTool, temporaryFolder } from '../support/tool.ts';
import { Speech } from './clips.ts';
import { comparison, measureInTurns, threadsText } from './engine-turns.ts';
import { measureWhisper, WHISPER } from './engine-whisper.ts';
import { beginCircumstances, table, writeResults } from './report.ts';
import type { Goal, Row } from './rows.ts';
import { spread } from './statistics.ts';

const USAGE = `npm run bench -- engine [--repetitions N] [--seconds N] [--only TEXT] [--markdown]
  --repetitions N  recognitions by each engine of each row (default 9); a Whisper does a third of it on each of 12 recordings
  --seconds N      length of the speech (default 10); a Whisper has recordings and lengths of its own
  --only TEXT      only the models with this in their name, such as "25 M", "transducer" or "whisper"
  --markdown       the table as Markdown`;

const TIME_GOAL: Goal = { relation: '≤', limit: 0.9 };
const FEATURES_GOAL: Goal = { relation: '≤', limit: 0.003 };
const CHUNK_FRAMES = 32;
const VOCABULARY = ['<blk>', ...Array.from({ length: 4999 }, (_, i) => `t${i}`)];
const JOINER_DIM = 512;

interface BenchModel {
  readonly name: string;
  /** @param clipMs length of the speech */
  measure(repetitions: number, clipMs: number): Promise<Row[]>;
}

interface StreamingModel {
  readonly name: string;
  /** Makes the files in an empty folder, or says where they are. */
  prepare(folder: string): { readonly modelDir: string; readonly model: ReferenceModel };
}

function models(): BenchModel[] {
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
    name: 'nemo-ctc (small)',
    prepare: () => ({ modelDir: SMALL_CTC, model: { family: 'nemo-ctc', model: 'model.onnx' } }),
  };
  return [
    { name: WHISPER, measure: measureWhisper },
    ...[small, ...generated].map((model) => ({
      name: model.name,
      measure: (repetitions: number, clipMs: number) => measureStreaming(model, repetitions, clipMs),
    })),
  ];
}

export const runEngineBench = (args: readonly string[]): Promise<void> =>
  runTool('bench', USAGE, () => measureEngines(args));

async function measureEngines(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      repetitions: { type: 'string', default: '9' },
      seconds: { type: 'string', default: '10' },
      only: { type: 'string', default: '' },
      markdown: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  const repetitions = Number(values.repetitions);
  const clipMs = 1000 * Number(values.seconds);
  if (
    values.help ||
    !Number.isInteger(repetitions) ||
    repetitions < 1 ||
    !(clipMs >= 1000 && clipMs <= 15_000)
  ) {
    console.log(USAGE);
    process.exitCode = values.help ? 0 : 64;
    return;
  }
  const end = beginCircumstances();
  const rows: Row[] = [await featureRow('kaldi', repetitions), await featureRow('whisper', repetitions)];
  for (const { name, measure } of models().filter((model) => model.name.includes(values.only))) {
    console.error(`measuring ${name} ...`);
    rows.push(...(await measure(repetitions, clipMs)));
  }
  const circumstances = end();
  console.log(table(rows, circumstances, values.markdown));
  console.log(`\n${await writeResults('engine', rows, circumstances)}`);
}

/** Both engines: wall time and processor time over the length of the speech, and peak memory. */
async function measureStreaming(
  { name, prepare }: StreamingModel,
  repetitions: number,
  clipMs: number,
): Promise<Row[]> {
  const pcm = (await Speech.read()).pcm(clipMs);
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
          ({ wallMs }) => wallMs / clipMs,
          ours,
          sherpa,
          TIME_GOAL,
        ),
        comparison(`${title}: processor time`, '', ({ cpuMs }) => cpuMs / clipMs, ours, sherpa),
        comparison(`${title}: peak memory`, 'MB', ({ peakMegabytes }) => peakMegabytes, ours, sherpa),
      );
    }
  } finally {
    folder.remove();
  }
  return rows;
}

async function featureRow(features: 'kaldi' | 'whisper', repetitions: number): Promise<Row> {
  const clipMs = 15_000;
  const pcm = (await Speech.read()).pcm(clipMs);
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
