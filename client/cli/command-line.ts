import { parseArgs } from 'node:util';
import { messageOf } from '../../common/errors/errors.ts';
import { UsageError } from './exit-codes.ts';

interface Service {
  readonly url: string;
  readonly tokenFile: string | undefined;
  readonly json: boolean;
}

export type Command =
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'none' }
  | ({ readonly kind: 'ready'; readonly waitMs: number } & Service)
  | ({
      readonly kind: 'transcribe';
      readonly files: readonly string[];
      readonly stream: boolean;
      readonly attempts: number;
    } & Service);

const DEFAULT_URL = 'http://127.0.0.1:8088';
const OPTIONS = {
  stream: { type: 'boolean' },
  json: { type: 'boolean' },
  url: { type: 'string' },
  'token-file': { type: 'string' },
  attempts: { type: 'string' },
  wait: { type: 'string' },
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
      refuse(values, ['stream', 'attempts'], command);
      return { kind: 'ready', waitMs: 1000 * number('--wait', values.wait ?? '0', 0, 86_400), ...service };
    case 'transcribe': {
      if (files.length === 0)
        throw new UsageError('transcribe needs at least one FILE ("-" for standard input)');
      if (files.filter((file) => file === '-').length > 1)
        throw new UsageError('standard input ("-") can be given only once');
      refuse(values, ['wait'], command);
      const attempts = number('--attempts', values.attempts ?? '8', 1, 1_000);
      return { kind: 'transcribe', files, stream: values.stream ?? false, attempts, ...service };
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

function refuse(values: Readonly<Record<string, unknown>>, names: readonly string[], command: string): void {
  const name = names.find((candidate) => values[candidate] !== undefined);
  if (name !== undefined) throw new UsageError(`${command} has no option --${name}`);
}

function number(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most)
    throw new UsageError(
      `${option} must be a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`,
    );
  return value;
}
