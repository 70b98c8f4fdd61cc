import {
  type DestinationStream,
  type Logger,
  type LoggerOptions,
  destination as openDestination,
  pino,
} from 'pino';
import type { LogLevel } from '../config/config.ts';

export type { Logger } from 'pino';

/** The log waits, up to this size, for an output that takes nothing. Lines beyond it are lost. */
const MAX_WAITING_BYTES = 1024 * 1024;

const CENSOR = '[redacted]';
/**
 * The arguments that Redis repeats of a command that it does not have: a password, or samples. They end with
 * the JSON string or before a stack.
 */
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
 * Writes one JSON line an event to standard output. What must never be logged (token, text, audio) is not
 * passed in. The redaction is a second guard behind that, for a header, message or error that slips into a
 * logged object.
 * @param token is in no line, even if a client sent it as something that is logged, such as its origin or path
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
        // ioredis puts the arguments of the failed command into its error: a password, or samples. A
        // Cluster's error holds its last node's error.
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

/**
 * If the log cannot be written, above all on a full disk, the service goes on. What waits is written with the
 * first line that can be again.
 */
function standardOutput(): Output {
  const output = openDestination({ dest: 1, maxLength: MAX_WAITING_BYTES });
  let isFailing = false;
  let isWriting = false;
  // The message about that goes to standard error, which may be on the same disk.
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
