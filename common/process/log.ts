import {
  type DestinationStream,
  type Logger,
  type LoggerOptions,
  destination as openDestination,
  pino,
} from 'pino';
import type { LogLevel } from '../config/config.ts';

export type { Logger } from 'pino';

/** What waits for an output that takes nothing; lines beyond it are lost. */
const MAX_WAITING_BYTES = 1024 * 1024;

const CENSOR = '[redacted]';
/** What Redis repeats of a command that it does not have, to the end of the JSON string or to a stack: a password, or samples. */
const REPEATED_ARGUMENTS = /(?<=, with args beginning with: )(?:[^"\\]|\\.)+?(?="|\\n {4}at )/g;

/** The logger of a process. */
export interface ProcessLogger extends Logger {
  /** Resolves when its output has taken every line, or cannot be written. */
  readonly written: () => Promise<void>;
}

interface Output {
  readonly destination: DestinationStream;
  readonly written: ProcessLogger['written'];
}

/**
 * One JSON line an event on standard output. What must never be logged (token, text, audio) is not passed in; the redaction is the second fence
 * behind that, for a header, message or error that slips into a logged object.
 * @param token is in no line, also where a client sent it as something that is logged, such as its origin or path
 */
export function createLogger(
  level: LogLevel,
  process_: 'api' | 'inference',
  destination?: DestinationStream,
  token?: string,
): ProcessLogger {
  const options: LoggerOptions = {
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
        // ioredis gives its errors the arguments of the command that failed, a password or samples; a Cluster's holds its last node's error.
        'err.command.args',
        'err.*.command.args',
      ],
      censor: CENSOR,
    },
  };
  const tokenInJson = token && JSON.stringify(token).slice(1, -1);
  options.hooks = {
    streamWrite(line) {
      const withoutArguments = line.replace(REPEATED_ARGUMENTS, CENSOR);
      return tokenInJson ? withoutArguments.replaceAll(tokenInJson, CENSOR) : withoutArguments;
    },
  };
  const output =
    destination === undefined ? standardOutput() : { destination, written: async () => undefined };
  return Object.assign(pino(options, output.destination), { written: output.written });
}

/** A log that cannot be written, above all on a full disk, ends nothing: what waits is written with the first line that can be again. */
function standardOutput(): Output {
  const output = openDestination({ dest: 1, maxLength: MAX_WAITING_BYTES });
  let isFailing = false;
  let isWriting = false;
  // Where that is said may be the same disk.
  process.stderr.on('error', () => undefined);
  output.on('error', (error) => {
    if (!isFailing)
      console.error(`the log cannot be written (${error.message}): the service goes on, lines may be lost`);
    isFailing = true;
    isWriting = false;
  });
  const write = output.write.bind(output);
  output.write = (line) => {
    isWriting = true;
    return write(line);
  };
  output.on('drain', () => {
    isWriting = false;
  });
  output.on('write', () => {
    isFailing = false;
  });
  // pino calls it at the end of the process, and it would try for ever.
  const flushSync = output.flushSync.bind(output);
  output.flushSync = () => {
    if (!isFailing) flushSync();
  };
  const written = async (): Promise<void> => {
    if (!isWriting) return;
    await new Promise<void>((resolve) => {
      output.once('drain', resolve);
      output.once('error', () => resolve());
    });
  };
  return { destination: output, written };
}
