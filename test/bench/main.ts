/** `npm run bench`: what the service costs beyond its model, and the engine against sherpa-onnx. See USAGE. */
import { parseArgs } from 'node:util';
import { Progress } from '../support/tools/progress.ts';
import { exitOnSignals, runTool } from '../support/tools/tool.ts';
import { measureAttacks } from './attacks.ts';
import { Speech } from './clips.ts';
import { measureEngines } from './engine.ts';
import { measureWhisper } from './engine-whisper.ts';
import { measureGrowth } from './growth.ts';
import { measureBundled, measureHttp, warmUp } from './http.ts';
import { circumstances, type Row, table } from './report.ts';
import { type BenchService, startService } from './service.ts';
import { measureBusy, measureUtilisation } from './slot.ts';
import { measureStream } from './stream.ts';

const USAGE = `npm run bench -- [PART ...] [--repetitions N] [--only TEXT]
  PART             http, stream, utilisation, busy, growth: the service with the small CTC model;
                   attacks: what others meet while hostile clients attack a replica;
                   bundled: the service with the bundled model; engine, whisper: the engine against sherpa-onnx (default: all of them)
  --repetitions N  uploads of each length, and sessions (default 40); the other parts take a quarter of it
  --only TEXT      of engine, only the models with this in their name, such as "25 M" or "transducer"
The table is Markdown.`;

type ServicePart = (service: BenchService, speech: Speech, repetitions: number) => Promise<Row[]>;

const SERVICE_PARTS: Readonly<Record<string, ServicePart>> = {
  http: measureHttp,
  stream: measureStream,
  utilisation: (service, speech, repetitions) => measureUtilisation(service, speech, quarter(repetitions)),
  busy: (service, speech, repetitions) => measureBusy(service, speech, quarter(repetitions)),
  growth: (service, speech, repetitions) => measureGrowth(service, speech, quarter(repetitions)),
};

const ENGINE_PARTS: Readonly<Record<string, (repetitions: number, only: string) => Promise<Row[]>>> = {
  attacks: () => measureAttacks(Speech.read()),
  bundled: (repetitions) => measureBundled(Speech.read(), repetitions),
  engine: (repetitions, only) => measureEngines(quarter(repetitions), only),
  whisper: (repetitions) => measureWhisper(quarter(repetitions)),
};

function quarter(repetitions: number): number {
  return Math.ceil(repetitions / 4);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      repetitions: { type: 'string', default: '40' },
      only: { type: 'string', default: '' },
      help: { type: 'boolean' },
    },
  });
  const repetitions = Number(values.repetitions);
  const unknown = positionals.find((name) => !Object.hasOwn({ ...SERVICE_PARTS, ...ENGINE_PARTS }, name));
  if (values.help || unknown !== undefined || !Number.isInteger(repetitions) || repetitions < 1) {
    if (unknown !== undefined) console.error(`bench: there is no part "${unknown}"`);
    console.log(USAGE);
    process.exitCode = values.help ? 0 : 64;
    return;
  }
  const asked = <T>(parts: Readonly<Record<string, T>>): [string, T][] =>
    Object.entries(parts).filter(([name]) => positionals.length === 0 || positionals.includes(name));
  const describe = circumstances();
  const parts = [...asked(SERVICE_PARTS), ...asked(ENGINE_PARTS)].map(([name]) => name);
  const progress = new Progress();
  const begin = (name: string): void =>
    progress.step(`measuring ${name} (part ${1 + parts.indexOf(name)} of ${parts.length})`);
  const rows = await measureService(asked(SERVICE_PARTS), repetitions, progress, begin);
  for (const [name, measure] of asked(ENGINE_PARTS)) {
    begin(name);
    rows.push(...(await measure(repetitions, values.only)));
  }
  progress.end();
  console.log(`${describe()}\n\n${table(rows)}`);
}

async function measureService(
  parts: readonly (readonly [string, ServicePart])[],
  repetitions: number,
  progress: Progress,
  begin: (name: string) => void,
): Promise<Row[]> {
  if (parts.length === 0) return [];
  const speech = Speech.read();
  const service = await startService();
  const rows: Row[] = [];
  try {
    progress.step('warming up');
    await warmUp(service, speech);
    for (const [name, measure] of parts) {
      begin(name);
      rows.push(...(await measure(service, speech, repetitions)));
    }
  } finally {
    await service.stop();
  }
  return rows;
}

exitOnSignals();
await runTool('bench', USAGE, main);
