/**
 * Why a file is not read. `foreign`: another program may read it; `truncated`: its end is missing.
 * The message is the finding and what to do, in whole sentences.
 */
export class WavError extends Error {
  override readonly name = 'WavError';
  readonly code: 'invalid_format' | 'empty_audio' | 'audio_too_long';
  readonly fault: 'foreign' | 'truncated' | 'other';
  /** A sentence without its full stop. */
  readonly finding: string;

  constructor(code: WavError['code'], finding: string, todo = '', fault: WavError['fault'] = 'other') {
    super(todo === '' ? finding : `${finding}. ${todo}`);
    this.code = code;
    this.finding = finding;
    this.fault = fault;
  }
}

export const damaged = (finding: string): WavError =>
  new WavError('invalid_format', finding, 'Save or export the recording again');
