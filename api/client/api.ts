export { PcmConverter } from './audio/converter.ts';
export type { AudioInput } from './audio/pcm.ts';
export type { AsrClientOptions, ReadyOptions, TranscribeOptions } from './client.ts';
export { AsrError, type AsrErrorCode, type ServiceErrorCode } from './errors.ts';
export { type Retry, type RetryOptions, withRetry } from './retry.ts';
export { AsrStream } from './stream.ts';
export type { StreamOptions } from './stream-options.ts';
export type { ReadyResult, StreamFinal, StreamPartial, StreamReady, TranscriptionResult } from './wire.ts';
