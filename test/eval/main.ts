/** `npm run eval`: what models get wrong in recordings, and how long they take. */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { defaultThreads } from '../../common/config/cpu-threads.ts';
import { messageOf } from '../../common/errors/errors.ts';
import { OnnxRecognizer } from '../../inference/engine/engine.ts';
import { type LocatedModel, locateModel } from '../../models/store/locate.ts';
import { runTool } from '../support/tool.ts';
import { type Measurement, measure } from './measure.ts';
import { summaryLines, tableLines } from './report.ts';
import { DEFAULT_SET, readSet, setsIn } from './sets.ts';

const USAGE = `npm run eval -- [MODEL ...] [--recordings FOLDER] [--all | --no-table]
  MODEL                what ASR_MODEL takes: bundled (the default), an id of the catalogue, a folder
  --recordings FOLDER  own recordings: a folder, or folders in it, with WAV files (16 kHz, mono, 16 bits, up to 15 s)
                       and texts.tsv: the header file<TAB>text, then a line for each file with what is said in it
  --all                show also the sentences without a mistake
  --no-table           show no sentences, only the figures`;

/** Which sentences are shown. */
type Shown = 'all' | 'wrong' | 'none';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      recordings: { type: 'string' },
      all: { type: 'boolean' },
      'no-table': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const models = await Promise.all(
    (positionals.length === 0 ? ['bundled'] : positionals).map((name) => locateModel(name)),
  );
  const sets = values.recordings === undefined ? [DEFAULT_SET] : await setsIn(values.recordings);
  const shown = values['no-table'] ? 'none' : values.all ? 'all' : 'wrong';
  for (const model of models) await evaluate(model, sets, shown);
}

/** Prints each set's figures as soon as it is measured: it took minutes, and a later one may fail. */
async function evaluate({ id, folder }: LocatedModel, sets: readonly string[], shown: Shown): Promise<void> {
  const recognizer = new OnnxRecognizer({
    modelDir: folder,
    modelId: id,
    providers: 'auto',
    threads: defaultThreads(),
  });
  try {
    await recognizer.load();
    for (const set of sets) {
      const recordings = await readSet(set);
      const plural = recordings.length === 1 ? '' : 's';
      console.log(`${id} on ${basename(set)}, ${recordings.length} recording${plural}`);
      const measurements: Measurement[] = [];
      for (const recording of recordings) {
        measurements.push(await measure(recognizer, recording));
        // It takes minutes.
        if (process.stderr.isTTY) process.stderr.write(`\r${measurements.length} of ${recordings.length}`);
      }
      if (process.stderr.isTTY) process.stderr.write('\n');
      const table = shown === 'none' ? [] : tableLines(measurements, shown === 'all');
      console.log([...table, ...summaryLines(measurements), ''].join('\n'));
    }
  } finally {
    await recognizer.close();
  }
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`| head`) ends this program, too.
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});
try {
  await runTool('eval', USAGE, main);
} catch (error) {
  console.error(`eval: ${messageOf(error)}`);
  process.exitCode = 1;
}
