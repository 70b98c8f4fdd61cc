/** `npm run bench -- engine`: our engine against sherpa-onnx, on the same files and samples, in turns. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../common/package-root.ts';
import { createFilterBank, FeatureExtractor } from '../../inference/engine/features/feature-extractor.ts';
import { FrameWindow } from '../../inference/engine/features/frame-window.ts';
import { writeZipformer2 } from '../onnx/model-folder.ts';
import { REAL_SIZES, type RealSize } from '../onnx/real-size.ts';
import type { ReferenceModel } from '../onnx/reference-engine.ts';
import { runTool, temporaryFolder } from '../support/tool.ts';
import { Speech } from './clips.ts';
import { EngineProcess } from './engine-process.ts';
import { beginCircumstances, table, writeResults } from './report.ts';
import type { Goal, Row } from './rows.ts';
import { spread } from './statistics.ts';

const USAGE = `npm run bench -- engine [--repetitions N] [--seconds N] [--only TEXT] [--markdown]
  --repetitions N  recognitions by each engine of each row (default 9)
  --seconds N      length of the speech (default 10)
  --only TEXT      only the models with this in their name, such as "25 M" or "transducer"
  --markdown       the table as Markdown`;

const TIME_GOAL: Goal = { relation: '≤', limit: 0.9 };
const FEATURES_GOAL: Goal = { relation: '≤', limit: 0.003 };
/** The threads of sherpa-onnx go on spinning for tens of milliseconds behind its text, which the other one's turn must not begin in. */
const PAUSE_MS = 200;
const CHUNK_FRAMES = 32;
const VOCABULARY = ['<blk>', ...Array.from({ length: 4999 }, (_, i) => `t${i}`)];
const JOINER_DIM = 512;

interface BenchModel {
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
  const bundled: BenchModel = {
    name: 'nemo-ctc (bundled)',
    prepare: () => ({
      modelDir: join(packageRoot(), 'models', 'bundled'),
      model: { family: 'nemo-ctc', model: 'model.onnx' },
    }),
  };
  return [bundled, ...generated];
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
  for (const model of models().filter(({ name }) => name.includes(values.only))) {
    const folder = temporaryFolder();
    try {
      console.error(`preparing ${model.name} ...`);
      const files = model.prepare(folder.path);
      for (const threads of [1, 2]) {
        console.error(`measuring ${model.name}, ${threads} threads ...`);
        rows.push(...(await compare(model.name, files, threads, clipMs, repetitions)));
      }
    } finally {
      folder.remove();
    }
  }
  const circumstances = end();
  console.log(table(rows, circumstances, values.markdown));
  console.log(`\n${await writeResults('engine', rows, circumstances)}`);
}

/** Both engines, in turns: wall time and processor time over the length of the speech, and peak memory. */
async function compare(
  name: string,
  files: ReturnType<BenchModel['prepare']>,
  threads: number,
  clipMs: number,
  repetitions: number,
): Promise<Row[]> {
  const options = { ...files, threads, clipMs };
  const ours = await EngineProcess.start({ ...options, engine: 'ours' });
  const sherpa = await EngineProcess.start({ ...options, engine: 'sherpa-onnx' });
  try {
    for (let i = 0; i < repetitions; i++) {
      for (const engine of [ours, sherpa]) {
        await delay(PAUSE_MS);
        await engine.recognize();
      }
    }
  } finally {
    ours.stop();
    sherpa.stop();
  }
  const row = (
    what: string,
    unit: '' | 'MB',
    measuredBy: (engine: EngineProcess) => number[],
    goal?: Goal,
  ): Row => {
    const value = { what: 'ours', unit, spread: spread(measuredBy(ours)) };
    const base = { what: 'sherpa-onnx', unit, spread: spread(measuredBy(sherpa)) };
    const ratio = value.spread.median / base.spread.median;
    const title = `${name}, ${threads} ${threads === 1 ? 'thread' : 'threads'}: ${what}`;
    return { name: title, value, base, ratio, ...(goal === undefined ? {} : { goal }) };
  };
  return [
    row('real-time factor', '', ({ results }) => results.map(({ wallMs }) => wallMs / clipMs), TIME_GOAL),
    row('processor time', '', ({ results }) => results.map(({ cpuMs }) => cpuMs / clipMs)),
    row('peak memory', 'MB', ({ results }) => results.map(({ peakMegabytes }) => peakMegabytes)),
  ];
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
  return {
    name: `${features} features: processor time`,
    value,
    ratio: value.spread.median,
    goal: FEATURES_GOAL,
  };
}
