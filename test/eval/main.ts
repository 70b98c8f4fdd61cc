/** `npm run eval -- [MODEL ...] [--sets FOLDER] [--no-pairs]`: character error rates of models on sets of recordings. */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { defaultThreads } from '../../common/cpu-threads.ts';
import { messageOf } from '../../common/errors.ts';
import { OnnxRecognizer } from '../../inference/engine/engine.ts';
import type { Recognizer } from '../../inference/recognizer.ts';
import { type LocatedModel, locateModel } from '../../models/locate.ts';
import { runTool } from '../support/tool.ts';
import { countErrors, type Errors, errorRatePercent } from './error-rate.ts';
import { type Recording, readSet, recipeSets, setsIn } from './sets.ts';

const USAGE = `npm run eval -- [MODEL ...] [--sets FOLDER] [--no-pairs]
  MODEL         what ASR_MODEL takes: bundled (the default), an id of the catalogue, a folder
  --sets FOLDER own recordings: a folder, or folders in it, with WAV files (16 kHz, mono, 16 bits) and text.tsv (file<TAB>text)
  --no-pairs    only the table, not what was said (-) and heard (+)`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { sets: { type: 'string' }, 'no-pairs': { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const models = await Promise.all(
    (positionals.length === 0 ? ['bundled'] : positionals).map((name) => locateModel(name)),
  );
  const folders = values.sets === undefined ? await recipeSets() : await setsIn(values.sets);
  const table: string[] = [];
  try {
    for (const model of models) await measure(model, folders, values['no-pairs'] !== true, table);
  } finally {
    // What was measured before a later recording or model failed took minutes.
    if (table.length > 0) console.log(['', 'character error rate', ...table].join('\n'));
  }
}

/** Adds a line to `table` for each set. */
async function measure(
  { id, folder }: LocatedModel,
  sets: readonly string[],
  pairs: boolean,
  table: string[],
): Promise<void> {
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
      const errors = await evaluate(recognizer, recordings, pairs);
      const rate = errorRatePercent(errors).toFixed(1).padStart(6);
      const counts = `${errors.wrong} of ${errors.total} characters in ${recordings.length} recordings`;
      table.push(`${id.padEnd(24)} ${basename(set).padEnd(12)} ${rate} %   ${counts}`);
    }
  } finally {
    await recognizer.close();
  }
}

async function evaluate(
  recognizer: Recognizer,
  recordings: readonly Recording[],
  pairs: boolean,
): Promise<Errors> {
  const sum = { wrong: 0, total: 0 };
  for (const { name, truth, pcm } of recordings) {
    const heard = await recognize(recognizer, pcm);
    const { wrong, total } = countErrors(truth, heard);
    sum.wrong += wrong;
    sum.total += total;
    if (pairs) console.log(wrong === 0 ? `${name} = ${truth}` : `${name} - ${truth}\n${name} + ${heard}`);
  }
  return sum;
}

async function recognize(recognizer: Recognizer, pcm: Buffer): Promise<string> {
  const stream = await recognizer.open();
  try {
    return await stream.finish(pcm);
  } finally {
    await stream.close();
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
