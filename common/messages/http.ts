import Type, { type Static } from 'typebox';

/** The interface's HTTP resources. Routes validate, serialize and document themselves from these. */
export const HealthResult = Type.Object(
  { status: Type.Enum(['alive'], { type: 'string' }) },
  { $id: 'HealthResult', description: 'The HTTP process answers; says nothing about the model.' },
);

export const ReadyResult = Type.Object(
  {
    status: Type.Enum(['ready', 'loading'], { type: 'string' }),
    busy: Type.Boolean({ description: 'true while a recognition task is active anywhere in the service' }),
    error: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'on load failure the exception type name; StoreUnavailable while the service cannot reach its store',
      }),
    ),
  },
  { $id: 'ReadyResult' },
);

export const TranscriptionResult = Type.Object(
  {
    text: Type.String({ description: 'complete recognized text; may contain punctuation; may be empty' }),
    audio_ms: Type.Integer({
      description: 'duration of the submitted audio samples in milliseconds, rounded',
    }),
    inference_ms: Type.Number({ description: 'duration of the inference call in milliseconds' }),
  },
  { $id: 'TranscriptionResult' },
);
export type TranscriptionResult = Static<typeof TranscriptionResult>;

export const ApiError = Type.Object(
  {
    error: Type.String({ description: 'error code' }),
    message: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'optional explanation' })),
  },
  { $id: 'ApiError' },
);

export const ValidationError = Type.Object(
  {
    loc: Type.Array(Type.Union([Type.String(), Type.Integer()])),
    msg: Type.String(),
    type: Type.String(),
    input: Type.Optional(Type.Unknown()),
    ctx: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { $id: 'ValidationError' },
);

export const HTTPValidationError = Type.Object(
  { detail: Type.Optional(Type.Array(Type.Ref('ValidationError'))) },
  { $id: 'HTTPValidationError' },
);
