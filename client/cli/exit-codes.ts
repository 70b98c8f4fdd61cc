import { AsrError, type AsrErrorCode } from '../protocol/errors.ts';

/** Exit codes; `help.ts` documents them for people. */
export const EXIT = {
  ok: 0,
  recording: 1,
  usage: 2,
  refused: 3,
  notNow: 4,
  noService: 5,
  partly: 6,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The command line or a setting is wrong; nothing was sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const OF_CODE: Readonly<Record<AsrErrorCode, ExitCode>> = {
  invalid_format: EXIT.recording,
  empty_audio: EXIT.recording,
  audio_too_long: EXIT.recording,
  upload_too_large: EXIT.recording,
  invalid_form: EXIT.recording,
  invalid_message: EXIT.recording,
  invalid_sequence: EXIT.recording,
  invalid_frame: EXIT.recording,
  inference_failed: EXIT.recording,
  unauthorized: EXIT.refused,
  forbidden: EXIT.refused,
  busy: EXIT.notNow,
  not_ready: EXIT.notNow,
  timeout: EXIT.noService,
  overloaded: EXIT.noService,
  network: EXIT.noService,
  unavailable: EXIT.noService,
  no_answer: EXIT.noService,
  unexpected_response: EXIT.noService,
};

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError) return EXIT.usage;
  return error instanceof AsrError ? OF_CODE[error.code] : EXIT.recording;
}
