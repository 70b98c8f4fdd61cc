import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import {
  ApiError,
  HealthResult,
  HTTPValidationError,
  ReadyResult,
  TranscriptionResult,
  ValidationError,
} from '../common/messages/http.ts';

/** Makes `app.swagger()` the OpenAPI 3.1 description of the routes that are registered after this, with the resources by their names. */
export async function registerOpenApi(app: FastifyInstance, publicBaseUrl: string): Promise<void> {
  for (const schema of [
    HealthResult,
    ReadyResult,
    TranscriptionResult,
    ApiError,
    ValidationError,
    HTTPValidationError,
  ]) {
    app.addSchema(schema);
  }
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Chinese Speech Recognition Service',
        version: '1.0.0',
        description:
          'Recognizes short Chinese speech: 16 kHz mono PCM16, at most 15 s, one recognition at a time. ' +
          'The streaming protocol (WebSocket) is described in /api-reference.md.',
      },
      servers: [{ url: publicBaseUrl }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      tags: [
        { name: 'health', description: 'Process and model' },
        { name: 'transcription', description: 'Whole recordings' },
      ],
    },
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) => String(json['$id'] ?? `schema-${index}`),
    },
  });
}
