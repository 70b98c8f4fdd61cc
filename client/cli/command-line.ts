import { parseArgs } from 'node:util';
import { messageOf } from '../../common/errors/errors.ts';
import { BATCH_GAP_MS } from '../protocol/turns.ts';
import { UsageError } from './exit-codes.ts';

const FORMATS = ['text', 'json', 'srt', 'vtt'] as const;
export type Format = (typeof FORMATS)[number];

interface ServiceAccess {
  readonly url: string;
  readonly tokenFile: string | undefined;
}

export type Command =
  | { readonly kind: 'help' | 'version' | 'none' }
  | ({ readonly kind: 'ready'; readonly json: boolean } & ServiceAccess)
  | ({
      readonly kind: 'transcribe';
      readonly files: readonly string[];
      readonly stream: boolean;
      readonly format: Format;
      readonly attempts: number | undefined;
      readonly patienceMs: number;
      readonly gapMs: number;
    } & ServiceAccess);

const DEFAULT_URL = 'http://127.0.0.1:8088';
const OPTIONS = {
  stream: { type: 'boolean' },
  json: { type: 'boolean' },
  format: { type: 'string' },
  url: { type: 'string' },
  'token-file': { type: 'string' },
  attempts: { type: 'string' },
  patience: { type: 'string' },
  gap: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/** @throws UsageError for what is not a command of `help.ts` */
export function parseCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  if (args.some((arg) => /^--(api-)?token(=|$)/.test(arg))) {
    throw new UsageError(
      'a token on the command line is readable by every user of this machine; use ASR_API_TOKEN or --token-file FILE',
    );
  }
  const { values, positionals } = parse(args);
  if (values.help) return { kind: 'help' };
  if (values.version) return { kind: 'version' };
  const service = {
    url: values.url ?? (environment['ASR_URL'] || DEFAULT_URL),
    tokenFile: values['token-file'],
  };
  const [command, ...files] = positionals;
  switch (command) {
    case 'ready':
      if (files.length > 0) throw new UsageError(`ready takes no file, but got ${JSON.stringify(files[0])}`);
      for (const option of ['stream', 'format', 'attempts', 'patience', 'gap'] as const)
        if (values[option] !== undefined) throw new UsageError(`ready has no option --${option}`);
      return { kind: 'ready', json: values.json ?? false, ...service };
    case 'transcribe': {
      if (files.length === 0)
        throw new UsageError('transcribe needs at least one FILE ("-" for standard input)');
      if (files.filter((file) => file === '-').length > 1)
        throw new UsageError('standard input ("-") can be given only once');
      const { stream = false, attempts, patience = '120', gap = String(BATCH_GAP_MS / 1000) } = values;
      const format = formatOf(values.format, values.json ?? false);
      if (files.length > 1 && (format === 'srt' || format === 'vtt'))
        throw new UsageError(`--format ${format} takes one FILE: subtitles of several would be in one file`);
      return {
        ...{ kind: 'transcribe', files, stream, format },
        attempts: attempts === undefined ? undefined : attemptsOf(attempts),
        patienceMs: 1000 * secondsOf('--patience', patience),
        gapMs: 1000 * secondsOf('--gap', gap),
        ...service,
      };
    }
    case undefined:
      return { kind: 'none' };
    default:
      throw new UsageError(`unknown command ${JSON.stringify(command)}; there are transcribe and ready`);
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

function formatOf(given: string | undefined, json: boolean): Format {
  const format = FORMATS.find((known) => known === (given ?? (json ? 'json' : 'text')));
  if (format === undefined)
    throw new UsageError(`--format is text, json, srt or vtt, not ${JSON.stringify(given)}`);
  if (json && format !== 'json') throw new UsageError(`--json and --format ${format} contradict each other`);
  return format;
}

function attemptsOf(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new UsageError(`--attempts must be a whole number from 1 on, not ${JSON.stringify(text)}`);
}

function secondsOf(option: string, text: string): number {
  if (/^\d{1,6}(\.\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`${option} must be a number of seconds, not ${JSON.stringify(text)}`);
}
