/** `npm run bench`: what the service costs beyond its model. See USAGE. */
import { parseArgs } from 'node:util';
import { exitOnSignals, runTool } from '../support/tool.ts';
import { Speech } from './clips.ts';
import { measureHttp, warmUp } from './http.ts';
import { beginCircumstances, table, writeResults } from './report.ts';
import type { Row } from './rows.ts';
import { type BenchService, startService } from './service.ts';
import { measureBusy, measureUtilisation } from './slot.ts';
import { measureStream } from './stream.ts';

const USAGE = `npm run bench -- [PART ...] [--repetitions N] [--markdown]
  PART             http, stream, utilisation, busy (default: these four), or engine, which is a bench of its own
  --repetitions N  uploads of each length, and sessions (default 40); rounds of utilisation and busy are a quarter of it
  --markdown       the table as Markdown
  npm run bench -- engine ...  runs test/bench/engine.ts with the rest of the line`;

type Part = (service: BenchService, speech: Speech, repetitions: number) => Promise<Row[]>;

const PARTS: Readonly<Record<string, Part>> = {
  http: measureHttp,
  stream: measureStream,
  utilisation: (service, speech, repetitions) =>
    measureUtilisation(service, speech, Math.ceil(repetitions / 4)),
  busy: (service, speech, repetitions) => measureBusy(service, speech, Math.ceil(repetitions / 4)),
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      repetitions: { type: 'string', default: '40' },
      markdown: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  const repetitions = Number(values.repetitions);
  const unknown = positionals.find((name) => !Object.hasOwn(PARTS, name));
  if (values.help || unknown !== undefined || !Number.isInteger(repetitions) || repetitions < 1) {
    if (unknown !== undefined) console.error(`bench: there is no part "${unknown}"`);
    console.log(USAGE);
    process.exitCode = values.help ? 0 : 64;
    return;
  }
  const end = beginCircumstances();
  const speech = await Speech.read();
  const service = await startService();
  const rows: Row[] = [];
  try {
    console.error('warming up ...');
    await warmUp(service, speech);
    for (const [name, measure] of Object.entries(PARTS)) {
      if (positionals.length > 0 && !positionals.includes(name)) continue;
      console.error(`measuring ${name} ...`);
      rows.push(...(await measure(service, speech, repetitions)));
    }
  } finally {
    await service.stop();
  }
  const circumstances = end();
  console.log(table(rows, circumstances, values.markdown));
  console.log(`\n${await writeResults('service', rows, circumstances)}`);
}

exitOnSignals();
if (process.argv[2] === 'engine') {
  const { runEngineBench } = await import('./engine.ts');
  await runEngineBench(process.argv.slice(3));
} else {
  await runTool('bench', USAGE, main);
}
