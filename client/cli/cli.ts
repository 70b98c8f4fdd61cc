#!/usr/bin/env node
import { createRequire } from 'node:module';
import { messageOf } from '../../common/errors/errors.ts';
import { printable } from '../../common/errors/printable.ts';
import { AsrClient } from '../node.ts';
import { parseCommandLine } from './command-line.ts';
import { EXIT, type ExitCode, exitCodeOf, UsageError } from './exit-codes.ts';
import { HELP } from './help.ts';
import { askReady } from './ready.ts';
import { Report } from './report.ts';
import { readToken } from './token.ts';
import { transcribeAll } from './transcribe.ts';

async function run(signal: AbortSignal): Promise<ExitCode> {
  const command = parseCommandLine(process.argv.slice(2), process.env);
  switch (command.kind) {
    case 'help':
      process.stdout.write(HELP);
      return EXIT.ok;
    case 'none':
      process.stderr.write(`${HELP}\n`);
      throw new UsageError('the command is missing: transcribe FILE... or ready');
    case 'version':
      process.stdout.write(`${packageVersion()}\n`);
      return EXIT.ok;
    case 'ready': {
      const client = makeClient(command.url, await readToken(command.tokenFile, process.env));
      return askReady(client, command.json, process, signal);
    }
    case 'transcribe': {
      const client = makeClient(command.url, await readToken(command.tokenFile, process.env), command.gapMs);
      const { format, stream, files } = command;
      const report = new Report(process, { format, stream, count: files.length });
      try {
        return await transcribeAll({ ...command, client, input: process.stdin, report, signal });
      } finally {
        report.end();
      }
    }
    default:
      return command satisfies never;
  }
}

function makeClient(url: string, apiToken: string, gapMs?: number): AsrClient {
  try {
    return new AsrClient({ url, apiToken, gapMs });
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

function packageVersion(): string {
  const manifest: { version: string } = createRequire(import.meta.url)('chinese-asr-client/package.json');
  return manifest.version;
}

/** Much longer than an interrupted request or stream takes to end. */
const ENDING_MS = 2_000;

const interrupt = new AbortController();
const stop = (by: NodeJS.Signals) => {
  interrupt.abort();
  // Nothing else ends a read of standard input.
  process.stdin.destroy();
  // Only the signal itself, now without its handler, ends the opening of a pipe that nobody writes to.
  setTimeout(() => process.kill(process.pid, by), ENDING_MS).unref();
};
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`| head -1`) ends this program, too.
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  process.stderr.write(`asr-client: standard output cannot be written: ${error.message}\n`);
  process.exit(EXIT.usage);
});
// Nobody reads the messages; the texts are still wanted.
process.stderr.on('error', () => {});

try {
  process.exitCode = await run(interrupt.signal);
} catch (error) {
  if (interrupt.signal.aborted) {
    process.exitCode = EXIT.interrupted;
  } else {
    const hint = error instanceof UsageError ? ' (asr-client --help)' : '';
    process.stderr.write(`asr-client: ${printable(messageOf(error))}${hint}\n`);
    process.exitCode = exitCodeOf(error);
  }
}
// Standard input may still be open, with nobody left who reads it.
process.stdin.destroy();
