/** `npm run eval`: what models get wrong in recordings, and how long they take. */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { defaultThreads } from '../../common/config/cpu-threads.ts';
import { messageOf } from '../../common/errors/errors.ts';
import type { Hotword, HotwordList } from '../../inference/engine/postprocessing/hotword-list.ts';
import { OnnxRecognizer } from '../../inference/engine/thread/engine.ts';
import { type LocatedModel, locateModel } from '../../models/store/locate.ts';
import { Progress } from '../support/tools/progress.ts';
import { runTool } from '../support/tools/tool.ts';
import { readHotwords } from './hotwords.ts';
import { measure, uploadText } from './measure.ts';
import { hotwordLine, languageModelLines, listLine, summaryLines, tableLines } from './report.ts';
import { DEFAULT_SET, type Recording, readSet, setsIn } from './sets.ts';

const USAGE = `npm run eval -- [MODEL ...] [--recordings FOLDER] [--hotwords FILE] [--all | --no-table]
  MODEL                what ASR_MODEL takes: bundled (the default), an id of the catalogue, a folder
  --recordings FOLDER  own recordings: a folder, or folders in it, with WAV files (16 kHz, mono, 16 bits, up to 15 s)
                       and texts.tsv: the header file<TAB>text, then a line for each file with what is said in it
  --hotwords FILE      recognize the recordings without and with these phrases (a file as ASR_HOTWORDS takes it), and count in the uploads
                       how often a phrase is right, lost (right without them, wrong with them) and false (heard with them, not said)
  --all                show also the sentences without a mistake
  --no-table           show no sentences, only the figures`;

const NO_HOTWORDS: readonly Hotword[] = [];

/** Which sentences are shown. */
type Shown = 'all' | 'wrong' | 'none';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      recordings: { type: 'string' },
      hotwords: { type: 'string' },
      all: { type: 'boolean' },
      'no-table': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const list = values.hotwords === undefined ? undefined : await readHotwords(values.hotwords);
  const models = await Promise.all(
    (positionals.length === 0 ? ['bundled'] : positionals).map((name) => locateModel(name)),
  );
  const sets = values.recordings === undefined ? [DEFAULT_SET] : await setsIn(values.recordings);
  const shown = values['no-table'] ? 'none' : values.all ? 'all' : 'wrong';
  if (list !== undefined) console.log(listLine(list));
  for (const model of models) await evaluate(model, sets, shown, list);
}

/** Prints each set's figures as soon as it is measured: it took minutes, and a later one may fail. */
async function evaluate(
  model: LocatedModel,
  sets: readonly string[],
  shown: Shown,
  list: HotwordList | undefined,
): Promise<void> {
  const { id } = model;
  let inUse = NO_HOTWORDS;
  const recognizer = new OnnxRecognizer({
    providers: 'auto',
    threads: defaultThreads(),
    hotwords: list && (async () => inUse),
  });
  const plain = new OnnxRecognizer({
    providers: 'auto',
    threads: defaultThreads(),
    languageModel: false,
  });
  const progress = new Progress();
  /** @returns what `recognize` gives for each, one after the other */
  const each = async <T>(
    what: string,
    recordings: readonly Recording[],
    recognize: (recording: Recording) => Promise<T>,
  ): Promise<T[]> => {
    progress.step(what, recordings.length);
    const results: T[] = [];
    for (const recording of recordings) {
      results.push(await recognize(recording));
      progress.one();
    }
    progress.end();
    return results;
  };
  try {
    progress.step(`loading ${id}`);
    const { family } = await recognizer.load(model);
    // No other one can judge what the language model proposes.
    const isCorrected = family === 'whisper';
    if (isCorrected) await plain.load(model);
    progress.end();
    for (const set of sets) {
      const recordings = await readSet(set);
      const plural = recordings.length === 1 ? '' : 's';
      console.log(`${id} on ${basename(set)}, ${recordings.length} recording${plural}`);
      inUse = NO_HOTWORDS;
      const uncorrected = isCorrected
        ? await each('recognizing without the language model', recordings, (recording) =>
            uploadText(plain, recording),
          )
        : [];
      const before =
        list === undefined
          ? []
          : await each('recognizing without the list', recordings, (recording) =>
              uploadText(recognizer, recording),
            );
      inUse = list?.hotwords ?? NO_HOTWORDS;
      const measurements = await each('recognizing', recordings, (recording) =>
        measure(recognizer, recording),
      );
      const table = shown === 'none' ? [] : tableLines(measurements, shown === 'all');
      const lines = [...table, ...summaryLines(measurements)];
      const changes = uncorrected.map((without, i) => ({
        name: recordings[i]?.name ?? '',
        truth: recordings[i]?.truth ?? '',
        without,
        with: (list === undefined ? measurements[i]?.upload.text : before[i]) ?? '',
      }));
      if (isCorrected) lines.push(...languageModelLines(changes, shown !== 'none'));
      if (list !== undefined) lines.push(hotwordLine(list, before, measurements));
      console.log([...lines, ''].join('\n'));
    }
  } finally {
    progress.end();
    await Promise.all([recognizer.close(), plain.close()]);
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
