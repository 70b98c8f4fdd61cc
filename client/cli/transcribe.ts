import type { AsrClient } from '../node.ts';
import { type Retry, withRetry } from '../protocol/retry.ts';
import { Turns } from '../protocol/turns.ts';
import type { StreamFinal, TranscriptionResult } from '../protocol/wire.ts';
import type { AsrStream } from '../stream/stream.ts';
import { EXIT, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { readAhead } from './read-ahead.ts';
import { readRecordingFile, readRecordingInput } from './recording.ts';
import type { Report } from './report.ts';

interface TranscribeJob {
  readonly client: AsrClient;
  readonly files: readonly string[];
  readonly stream: boolean;
  readonly attempts: number | undefined;
  readonly patienceMs: number;
  readonly gapMs: number;
  readonly input: AsyncIterable<Buffer>;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** Recognizes one recording after the other, as the service has one slot. @returns the exit code */
export async function transcribeAll(job: TranscribeJob): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const turns = new Turns(job.files.length > 1 ? job.gapMs : 0);
  for (const [index, file] of job.files.entries()) {
    try {
      job.report.result(file, await transcribeOne(job, file, turns));
    } catch (error) {
      if (job.signal.aborted) throw error;
      job.report.failure(file, error);
      const failed = exitCodeOf(error);
      if (exitCode === EXIT.ok) exitCode = failed;
      if (failed === EXIT.refused || failed === EXIT.noService) {
        // The next one would meet the same.
        job.report.notTried(job.files.length - index - 1);
        break;
      }
    }
  }
  return exitCode;
}

async function transcribeOne(
  job: TranscribeJob,
  file: string,
  turns: Turns,
): Promise<TranscriptionResult | StreamFinal> {
  const { client, report, signal } = job;
  const samples =
    file === '-'
      ? await readRecordingInput(job.input, job.stream, signal)
      : await readRecordingFile(file, signal);
  const { attempts, patienceMs } = job;
  const retry = { attempts, patienceMs, onRetry: (retry: Retry) => report.retry(file, retry) };
  if (samples instanceof Int16Array) {
    const attempt = async (): Promise<TranscriptionResult | StreamFinal> =>
      job.stream
        ? follow(report, file, client.stream({ audio: samples, signal }))
        : client.transcribe(samples, { retry: false, signal });
    return withRetry(() => turns.next(attempt, signal), retry, signal);
  }
  const held = readAhead(samples);
  const session = await withRetry(() => openSession(job), retry, signal);
  report.listening(file);
  const [final] = await Promise.all([follow(report, file, session), feed(session, held)]);
  return final;
}

async function follow(report: Report, file: string, session: AsrStream): Promise<StreamFinal> {
  for await (const partial of session) report.partial(file, partial);
  return session.final;
}

/** Live audio exists once, so only what comes before its first sample can be tried again. */
async function openSession({ client, signal }: TranscribeJob): Promise<AsrStream> {
  const session = client.stream({ realTime: true, signal });
  await session.ready;
  return session;
}

async function feed(session: AsrStream, samples: AsyncIterable<Int16Array>): Promise<void> {
  try {
    for await (const piece of samples) await session.send(piece);
    await session.end();
  } catch (error) {
    session.close();
    throw error;
  }
}
