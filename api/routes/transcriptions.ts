import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import type { ApiConfig } from '../../common/config/config.ts';
import type { ApiServices } from '../services.ts';
import { BodyMemory } from '../uploads/body-memory.ts';
import { acceptForms, checkDeclaredLength, expectsContinue, readRecording } from '../uploads/upload.ts';

const apiError = (description: string) => Type.Ref('ApiError', { description });

/**
 * POST /v1/audio/transcriptions. The order of the checks is the design's: (peer →) token → declared length → model ready → body →
 * form → WAV → slot → job.
 */
export function transcriptionRoutes(
  services: ApiServices,
  { uploadTimeoutMs, uploadMemoryBytes }: Pick<ApiConfig, 'uploadTimeoutMs' | 'uploadMemoryBytes'>,
): FastifyPluginAsyncTypebox {
  const { access, admission, transcriber } = services;
  const memory = new BodyMemory(uploadMemoryBytes);
  return async (app) => {
    await acceptForms(app);
    app.post(
      '/v1/audio/transcriptions',
      {
        onRequest: [
          access.checkToken,
          async (request) => checkDeclaredLength(request.headers['content-length']),
        ],
        // The schema documents the form; the form itself is checked by readUploadForm.
        validatorCompiler: () => () => true,
        schema: {
          operationId: 'createTranscription',
          summary: 'Recognize one complete recording',
          description:
            'Uses the single recognition slot of the service: while it is taken the answer is 409.',
          tags: ['transcription'],
          security: [{ bearer: [] }],
          consumes: ['multipart/form-data'],
          body: Type.Object(
            {
              file: Type.String({
                format: 'binary',
                description: 'WAV file: PCM16, 16 kHz, mono, at most 15 s and 484096 bytes',
              }),
            },
            { description: 'at most 545536 bytes in all; other fields are ignored' },
          ),
          response: {
            200: Type.Ref('TranscriptionResult', { description: 'the recognized text' }),
            400: apiError('`invalid_format`, `empty_audio` or `audio_too_long`'),
            401: apiError('`unauthorized`: token missing or wrong'),
            403: apiError('`forbidden`: peer address not on the allow-list'),
            408: apiError('`timeout`: upload not completed within its time limit'),
            409: apiError('`busy`: another recognition task is active'),
            413: apiError('`upload_too_large`: file or body over its size limit'),
            422: Type.Ref('HTTPValidationError', {
              description: 'multipart `file` missing or request type mismatched',
            }),
            500: apiError('`inference_failed`: model inference failed for this request'),
            503: apiError('`not_ready`: model not ready yet, or too many uploads at once'),
          },
        },
      },
      async (request, reply) => {
        const giveBack = memory.take(request.headers['content-length']);
        let pcm: Promise<Buffer> | undefined;
        try {
          const asksFirst = expectsContinue(request.raw);
          if (asksFirst) {
            await admission.expectUsable();
            reply.raw.writeContinue();
          }
          // The body comes in while Redis is asked for the readiness. Only after that is the client told what is
          // wrong with the body.
          pcm = readRecording(request, uploadTimeoutMs);
          pcm.catch(() => undefined);
          if (!asksFirst) await admission.expectUsable();
          const { text, ...recognized } = await transcriber.transcribe(request.id, await pcm);
          request.recognized = recognized;
          return { text, audio_ms: recognized.audioMs, inference_ms: recognized.inferenceMs };
        } finally {
          // The body of a refused upload still comes in.
          void (pcm ?? Promise.resolve()).then(giveBack, giveBack);
        }
      },
    );
  };
}
