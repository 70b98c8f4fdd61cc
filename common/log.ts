import type { EventEmitter } from 'node:events';
import { type DestinationStream, type Logger, destination as openDestination, pino } from 'pino';
import type { LogLevel } from './config.ts';

export type { Logger } from 'pino';

/** What waits for an output that takes nothing; lines beyond it are lost. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Standard output, while lines wait for it. */
let busyOutput: EventEmitter | undefined;

/**
 * One JSON line an event on standard output. What must never be logged (token, text, audio) is not passed in; the redaction is the second fence
 * behind that, for a header, message or error that slips into a logged object.
 */
export function createLogger(
  level: LogLevel,
  process_: 'api' | 'inference',
  destination?: DestinationStream,
): Logger {
  const options = {
    level,
    base: { process: process_, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: [
        'authorization',
        'api_token',
        'text',
        'pcm',
        '*.authorization',
        '*.api_token',
        '*.text',
        '*.pcm',
        'req.headers',
        // ioredis gives its errors the arguments of the command that failed: a password, or samples.
        'err.command.args',
      ],
      censor: '[redacted]',
    },
  };
  return pino(options, destination ?? standardOutput());
}

/** Resolves when standard output has taken every line, or cannot be written. */
export async function logWritten(): Promise<void> {
  const output = busyOutput;
  if (output === undefined) return;
  await new Promise<void>((resolve) => {
    output.once('drain', resolve);
    output.once('error', () => resolve());
  });
}

/** A log that cannot be written, above all on a full disk, ends nothing: what waits is written with the first line that can be again. */
function standardOutput(): DestinationStream {
  const output = openDestination({ dest: 1, maxLength: MAX_WAITING_BYTES });
  let isFailing = false;
  // Where that is said may be the same disk.
  process.stderr.on('error', () => undefined);
  output.on('error', (error) => {
    if (!isFailing)
      console.error(`the log cannot be written (${error.message}): the service goes on, lines may be lost`);
    isFailing = true;
    busyOutput = undefined;
  });
  const write = output.write.bind(output);
  output.write = (line) => {
    busyOutput = output;
    return write(line);
  };
  output.on('drain', () => {
    busyOutput = undefined;
  });
  output.on('write', () => {
    isFailing = false;
  });
  // It is called at the end of the process, and tries for ever.
  const flushSync = output.flushSync.bind(output);
  output.flushSync = () => {
    if (!isFailing) flushSync();
  };
  return output;
}
