import { parseArgs } from 'node:util';

export const USAGE = `npm run models -- <command>

  list         the models that can be downloaded, and which are here
  pull <id>    download a model (goes on where a broken download stopped)
  pull <id> --from <file or folder>
               take the model's archive from there: for a machine without internet
  remove <id>  delete a downloaded model
  path <id>    print its folder

Use a model with ASR_MODEL=<id> npm start; without ASR_MODEL the bundled one is used.
ASR_MODEL_MIRROR replaces the address before the archive's name; HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY are honoured.`;

const COMMANDS = ['pull', 'remove', 'path'] as const;

/** A command on one model. */
export interface ModelRequest {
  readonly command: (typeof COMMANDS)[number];
  readonly id: string;
  /** Where the archive is, for `pull`. */
  readonly from: string | undefined;
}

export type Request =
  | { readonly command: 'help' | 'list' }
  | ModelRequest
  | { readonly command: 'wrong'; readonly reason: string };

export function parseArguments(argv: readonly string[]): Request {
  if (argv[0] === 'help' || argv.includes('--help') || argv.includes('-h')) return { command: 'help' };
  let from: string | undefined;
  let positionals: readonly string[];
  try {
    ({
      positionals,
      values: { from },
    } = parseArgs({ args: [...argv], options: { from: { type: 'string' } }, allowPositionals: true }));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Node's advice behind the first sentence is for programs that take names with a dash in front.
    return wrong(error.message.split(/\.\s/)[0] ?? error.message);
  }
  const [name, id, ...others] = positionals;
  if (name === undefined) return wrong('no command');
  const command = name === 'list' ? name : COMMANDS.find((known) => known === name);
  if (command === undefined) return wrong(`not a command: ${name}`);
  if (from !== undefined && command !== 'pull') return wrong(`${command} takes no --from: only pull does`);
  if (command === 'list') return id === undefined ? { command } : wrong('list takes no id');
  if (id === undefined || others.length > 0) return wrong(`${command} takes one id`);
  return { command, id, from };
}

const wrong = (reason: string): Request => ({ command: 'wrong', reason });
