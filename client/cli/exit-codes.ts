import { AsrError } from '../protocol/errors.ts';

/** Exit codes; `help.ts` documents them for people. */
export const EXIT = {
  ok: 0,
  recording: 1,
  usage: 2,
  refused: 3,
  notNow: 4,
  noService: 5,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The command line or a setting is wrong; nothing was sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError) return EXIT.usage;
  if (!(error instanceof AsrError)) return EXIT.recording;
  switch (error.code) {
    case 'invalid_format':
    case 'empty_audio':
    case 'audio_too_long':
    case 'upload_too_large':
    case 'invalid_form':
    case 'invalid_message':
    case 'invalid_sequence':
    case 'invalid_frame':
    case 'inference_failed':
      return EXIT.recording;
    case 'unauthorized':
    case 'forbidden':
      return EXIT.refused;
    case 'busy':
    case 'not_ready':
      return EXIT.notNow;
    case 'timeout':
    case 'overloaded':
    case 'network':
    case 'unavailable':
    case 'no_answer':
    case 'unexpected_response':
      return EXIT.noService;
    default:
      return error.code satisfies never;
  }
}
