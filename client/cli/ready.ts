import { printable } from '../../common/errors/printable.ts';
import type { AsrClient } from '../node.ts';
import { AsrError } from '../protocol/errors.ts';
import { delay } from '../protocol/waiting.ts';
import type { ReadyResult } from '../protocol/wire.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Output } from './report.ts';

const ASK_EVERY_MS = 500;
/** A connection may be dead, and the next one not. */
const LONGEST_ASK_MS = 10_000;

interface ReadyJob {
  readonly client: AsrClient;
  /** 0: ask once. */
  readonly waitMs: number;
  readonly json: boolean;
  readonly output: Output;
  readonly signal: AbortSignal;
}

/** Prints what the service says of itself. @returns the exit code. @throws AsrError when it says nothing. */
export async function askReady({ client, waitMs, json, output, signal }: ReadyJob): Promise<ExitCode> {
  const result = await askUntilReady(client, waitMs, signal);
  output.stdout.write(`${json ? JSON.stringify(result) : inWords(result)}\n`);
  return result.status === 'ready' ? EXIT.ok : EXIT.notNow;
}

async function askUntilReady(client: AsrClient, waitMs: number, signal: AbortSignal): Promise<ReadyResult> {
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    const leftMs = deadlineMs - performance.now();
    const isLast = leftMs < ASK_EVERY_MS;
    const timeoutMs =
      waitMs === 0 ? LONGEST_ASK_MS : Math.min(LONGEST_ASK_MS, Math.max(ASK_EVERY_MS, leftMs));
    try {
      const result = await client.ready({ signal, timeoutMs });
      if (result.status === 'ready' || isLast) return result;
    } catch (error) {
      // A service that takes connections and does not answer yet may still be starting.
      const isPassing = error instanceof AsrError && (error.retryable || error.code === 'no_answer');
      if (isLast || !isPassing) throw error;
    }
    await delay(ASK_EVERY_MS, signal);
  }
}

function inWords({ status, busy, error }: ReadyResult): string {
  if (status === 'ready') return busy ? 'ready, busy with a recording' : 'ready';
  return error ? `loading; the last attempt failed: ${printable(error)}` : 'loading';
}
