/** An encoder with a stateless decoder and a joiner. */
export type TransducerFamily = 'zipformer2-transducer' | 'zipformer-transducer';
/** State is carried from step to step, and each sample is seen once. */
export type StreamingFamily = 'zipformer2-ctc' | TransducerFamily | 'streaming-paraformer';
/**
 * An update of a stream looks at the audio again: at all so far, in Whisper at what was said since the last
 * pause. So it takes longer the longer that is.
 */
export type ReDecodingFamily = 'whisper' | 'sense-voice' | 'paraformer';
/** The shape of a model's files, and how its graphs work together. The engine tells it from the files. */
export type ModelFamily = StreamingFamily | ReDecodingFamily;

export function isReDecoding(family: ModelFamily): family is ReDecodingFamily {
  return family === 'whisper' || family === 'sense-voice' || family === 'paraformer';
}
