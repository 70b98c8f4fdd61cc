import { parseArgs } from 'node:util';
import { messageOf } from '../../common/errors/errors.ts';
import { BATCH_GAP_MS } from '../protocol/turns.ts';
import { UsageError } from './exit-codes.ts';

interface Service {
  readonly url: string;
  readonly tokenFile: string | undefined;
  readonly json: boolean;
}

export type Command =
  | { readonly kind: 'help' | 'version' | 'none' }
  | ({ readonly kind: 'ready' } & Service)
  | ({
      readonly kind: 'transcribe';
      readonly files: readonly string[];
      readonly stream: boolean;
      readonly attempts: number | undefined;
      readonly patienceMs: number;
      readonly gapMs: number;
    } & Service);

const DEFAULT_URL = 'http://127.0.0.1:8088';
const OPTIONS = {
  stream: { type: 'boolean' },
  json: { type: 'boolean' },
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
    json: values.json ?? false,
  };
  const [command, ...files] = positionals;
  switch (command) {
    case 'ready':
      if (files.length > 0) throw new UsageError(`ready takes no file, but got ${JSON.stringify(files[0])}`);
      for (const option of ['stream', 'attempts', 'patience', 'gap'] as const)
        if (values[option] !== undefined) throw new UsageError(`ready has no option --${option}`);
      return { kind: 'ready', ...service };
    case 'transcribe': {
      if (files.length === 0)
        throw new UsageError('transcribe needs at least one FILE ("-" for standard input)');
      if (files.filter((file) => file === '-').length > 1)
        throw new UsageError('standard input ("-") can be given only once');
      const { stream = false, attempts, patience = '120', gap = String(BATCH_GAP_MS / 1000) } = values;
      return {
        ...{ kind: 'transcribe', files, stream },
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

function attemptsOf(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new UsageError(`--attempts must be a whole number from 1 on, not ${JSON.stringify(text)}`);
}

function secondsOf(option: string, text: string): number {
  if (/^\d{1,6}(\.\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`${option} must be a number of seconds, not ${JSON.stringify(text)}`);
}
