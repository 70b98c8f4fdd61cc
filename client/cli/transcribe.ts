import type { AsrClient } from '../node.ts';
import type { Retry } from '../protocol/retry.ts';
import type { Transcript, TranscriptPiece } from '../protocol/transcript.ts';
import { EXIT, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { readAhead } from './read-ahead.ts';
import { type RecordingSource, readRecordingFile, readRecordingInput } from './recording.ts';
import type { Report } from './report.ts';

interface TranscribeJob {
  readonly client: AsrClient;
  readonly files: readonly string[];
  readonly stream: boolean;
  readonly attempts: number | undefined;
  readonly patienceMs: number;
  readonly input: AsyncIterable<Buffer>;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** How long an interrupted live recording waits for the text of what was said last. */
const LAST_TEXT_MS = 1_500;

/** What `transcribeLong` and `transcribeLive` have in common. */
interface Transcription extends AsyncIterable<TranscriptPiece> {
  readonly result: Promise<Transcript>;
  readonly soFar: Transcript;
}

/** Recognizes one recording after the other, as the service has one slot. @returns the exit code */
export async function transcribeAll(job: TranscribeJob): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const { report, signal } = job;
  for (const [index, file] of job.files.entries()) {
    report.begin(file);
    let running: Transcription | undefined;
    try {
      const source =
        file === '-'
          ? await readRecordingInput(job.input, job.stream, signal)
          : await readRecordingFile(file, signal);
      report.lengthMs = source.lengthMs;
      running = job.stream ? startLive(job, source, file === '-') : startLong(job, source);
      for await (const piece of running) report.piece(piece, running.soFar.audio_ms);
      const result = await running.result;
      signal.throwIfAborted();
      report.result(result);
    } catch (error) {
      const soFar = running?.soFar;
      if (signal.aborted) {
        report.incomplete(soFar);
        throw error;
      }
      report.failure(error, soFar);
      const failed = exitCodeOf(error);
      if (exitCode === EXIT.ok) exitCode = soFar?.text ? EXIT.partly : failed;
      if (failed === EXIT.refused || failed === EXIT.noService) {
        // The next one would meet the same.
        report.notTried(job.files.length - index - 1);
        break;
      }
    }
  }
  return exitCode;
}

const retryOf = ({ attempts, patienceMs, report }: TranscribeJob) => ({
  ...{ attempts, patienceMs },
  onRetry: (retry: Retry) => report.retry(retry),
});

function startLong(job: TranscribeJob, { audio }: RecordingSource): Transcription {
  return job.client.transcribeLong(audio, { retry: retryOf(job), signal: job.signal });
}

function startLive(job: TranscribeJob, { audio }: RecordingSource, isInput: boolean): Transcription {
  const { client, report, signal } = job;
  report.listening();
  const stop = new AbortController();
  const live = client.transcribeLive({
    // A recorder is read while nobody takes its samples yet; a file waits.
    audio: report.heard(isInput ? readAhead(audio) : audio),
    signal: stop.signal,
    retry: retryOf(job),
    onPartial: (text) => report.partial(text),
    onStreamFailure: (error) => report.streamFailure(error),
  });
  const end = (): void => {
    // It rejects there, too.
    live.end().catch(() => {});
    setTimeout(() => stop.abort(signal.reason), LAST_TEXT_MS).unref();
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return live;
}
