import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import {
  ApiError,
  HealthResult,
  HTTPValidationError,
  ReadyResult,
  TranscriptionResult,
  ValidationError,
} from '../../common/messages/http.ts';
import { addExamples } from './openapi-examples.ts';

/**
 * Whether this is the default of ASR_PUBLIC_BASE_URL, of no use on another machine. An address with a path
 * was set, for a proxy on this machine.
 */
export const isLoopbackUrl = (url: string): boolean =>
  new URL(url).hostname === '127.0.0.1' && publicPath(url) === '';

/** What a proxy puts in front of every path here, e.g. `/asr`, or nothing. A proxy with a prefix serves other things, too. */
export const publicPath = (publicBaseUrl: string): string =>
  new URL(publicBaseUrl).pathname.replace(/\/+$/, '');

/**
 * Where the HTTP interface is. The first address is the one that the description was read from: the pages may
 * send requests nowhere else (their policy, and no CORS). The second is the public one, for readers of a
 * copy. If the public one has a path of its own, it comes first: the pages are opened there.
 */
function servers(publicBaseUrl: string): { url: string; description: string }[] {
  const own = { url: '/', description: 'where this description was read' };
  if (isLoopbackUrl(publicBaseUrl)) return [own];
  const there = {
    url: publicBaseUrl,
    description: 'the public address; in a browser only for pages opened there',
  };
  return publicPath(publicBaseUrl) === '' ? [own, there] : [there, own];
}

/**
 * Makes `app.swagger()` the OpenAPI 3.1 description of the routes that are registered after this, with the
 * resources by their names.
 */
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
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        description:
          'Recognizes short Chinese speech: 16 kHz mono PCM16, at most 15 s, one recognition at a time. ' +
          'To try it, press “Authorize” and enter the access token. ' +
          'A method that a path does not have is answered 405 `method_not_allowed` with the header `Allow`. ' +
          `The streaming protocol (WebSocket) is described in the [reference](${publicPath(publicBaseUrl)}/api-reference).`,
      },
      servers: servers(publicBaseUrl),
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      tags: [
        { name: 'health', description: 'Process and model' },
        { name: 'transcription', description: 'Whole recordings' },
      ],
    },
    transformObject: (described) => {
      const description = 'openapiObject' in described ? described.openapiObject : described.swaggerObject;
      addExamples(description);
      return description;
    },
    refResolver: {
      buildLocalReference: (schema) => String(schema['$id']),
    },
  });
}
