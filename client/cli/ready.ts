import { printable } from '../../common/errors/printable.ts';
import type { AsrClient } from '../node.ts';
import type { ReadyResult } from '../protocol/wire.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Output } from './report.ts';

/** Prints what the service says of itself. @returns the exit code. @throws AsrError when it says nothing. */
export async function askReady(
  client: AsrClient,
  json: boolean,
  output: Output,
  signal: AbortSignal,
): Promise<ExitCode> {
  const result = await client.ready({ signal });
  output.stdout.write(`${json ? JSON.stringify(result) : inWords(result)}\n`);
  return result.status === 'ready' ? EXIT.ok : EXIT.notNow;
}

function inWords({ status, busy, error }: ReadyResult): string {
  if (status === 'ready') return busy ? 'ready, busy with a recording' : 'ready';
  return error ? `loading; the last attempt failed: ${printable(error)}` : 'loading';
}
