import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogLevel } from './config.ts';

export type { Logger } from 'pino';

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
  return destination ? pino(options, destination) : pino(options);
}
