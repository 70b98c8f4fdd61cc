/** Everything that can go wrong for the person at the page; each has its words in texts-en.ts and texts-zh.ts. */
export type FailureKind =
  | 'microphone_refused'
  | 'microphone_missing'
  | 'microphone_in_use'
  | 'microphone_silent'
  | 'microphone_lost'
  | 'page_not_secure'
  | 'browser_too_old'
  | 'too_short'
  | 'token_missing'
  | 'unauthorized'
  | 'forbidden'
  | 'busy'
  | 'not_ready'
  | 'overloaded'
  | 'connection_lost'
  | 'stream_refused'
  | 'timeout'
  | 'inference_failed'
  | 'cancelled'
  | 'file_unreadable'
  | 'file_cut_off'
  | 'file_too_long'
  | 'file_empty'
  | 'unexpected';

/** @property detail what the service or the browser said, for those who want to know; not translated. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;
  readonly detail: string;
  constructor(kind: FailureKind, detail = '') {
    super(`${kind}: ${detail}`);
    this.kind = kind;
    this.detail = detail;
  }
}

export function asFailure(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure('unexpected', String(error));
}

const PASSING: readonly FailureKind[] = ['busy', 'not_ready', 'connection_lost'];
/** Those that have the name of the interface's code. */
const SAME: readonly FailureKind[] = [
  ...PASSING,
  'overloaded',
  'timeout',
  'unauthorized',
  'forbidden',
  'inference_failed',
];
const BY_CODE: Readonly<Record<string, FailureKind>> = {
  invalid_format: 'file_unreadable',
  empty_audio: 'file_empty',
  audio_too_long: 'file_too_long',
  upload_too_large: 'file_too_long',
};

/** The failure behind an error code of the interface, HTTP or stream. */
export function failureOfCode(code: string, message: string): Failure {
  const kind = SAME.find((same) => same === code) ?? BY_CODE[code] ?? 'unexpected';
  return new Failure(kind, `${code}: ${message}`);
}

/** True when the same recording, sent again a little later, can succeed. */
export function isPassing(kind: FailureKind): boolean {
  return PASSING.includes(kind);
}
