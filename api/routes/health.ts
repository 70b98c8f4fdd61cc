import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { StoreUnavailable } from '../../common/errors/errors.ts';
import { RETRY_SOON } from '../http/error-replies.ts';
import type { ApiServices } from '../services.ts';

/** GET /healthz (the process answers) and GET /readyz (the model can recognize). */
export function healthRoutes({ access, admission, slot }: ApiServices): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/healthz',
      {
        schema: {
          operationId: 'getHealth',
          summary: 'The HTTP process answers',
          tags: ['health'],
          // Said explicitly: linters report an operation that says nothing as one that was forgotten.
          security: [],
          response: { 200: Type.Ref('HealthResult', { description: 'alive' }) },
        },
      },
      async () => ({ status: 'alive' as const }),
    );

    app.get(
      '/readyz',
      {
        onRequest: access.checkToken,
        schema: {
          operationId: 'getReadiness',
          summary: 'The model can recognize, and whether the slot is taken',
          description: 'Does not reserve the slot: another client can take it right after.',
          tags: ['health'],
          security: [{ bearer: [] }],
          response: {
            200: Type.Ref('ReadyResult', { description: 'the model is usable' }),
            401: Type.Ref('ApiError', { description: '`unauthorized`: token missing or wrong' }),
            403: Type.Ref('ApiError', { description: '`forbidden`: peer address not on the allow-list' }),
            503: Type.Ref('ReadyResult', {
              description: 'the model is loading or could not be loaded, or the service’s store is away',
            }),
          },
        },
      },
      async (request, reply) => {
        const notReady = (busy: boolean, error?: string) => {
          request.failureCode = 'not_ready';
          reply.code(503).headers(RETRY_SOON);
          return reply.send({ status: 'loading', busy, ...(error === undefined ? {} : { error }) });
        };
        try {
          const [{ ready, error }, holder] = await Promise.all([admission.look(), slot.holder()]);
          const busy = holder !== undefined;
          return ready ? { status: 'ready' as const, busy } : notReady(busy, error);
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error;
          return notReady(false, error.name);
        }
      },
    );
  };
}
