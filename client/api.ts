export { PcmConverter } from './audio/converter.ts';
export type { AudioInput } from './audio/pcm.ts';
export type { AsrClientOptions, ReadyOptions, TranscribeOptions } from './client.ts';
export type { LiveOptions } from './long/live-options.ts';
export { LiveTranscription } from './long/live-transcription.ts';
export { LongTranscription } from './long/long-transcription.ts';
export { toSrt, toVtt } from './long/subtitles.ts';
export { AsrError, type AsrErrorCode, type ServiceErrorCode } from './protocol/errors.ts';
export { type Retry, type RetryOptions, withRetry } from './protocol/retry.ts';
export type { Transcript, TranscriptPiece } from './protocol/transcript.ts';
export type {
  ReadyResult,
  StreamFinal,
  StreamPartial,
  StreamReady,
  TranscriptionResult,
} from './protocol/wire.ts';
export { AsrStream } from './stream/stream.ts';
export type { StreamOptions } from './stream/stream-options.ts';
