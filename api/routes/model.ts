import { basename } from 'node:path';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import type { ApiServices } from '../services.ts';

/** For the page alone. It is no resource of the interface, so it has no name there. */
const PageModel = Type.Object(
  {
    id: Type.Union([Type.String(), Type.Null()], {
      description: 'catalogue id, `bundled`, or the last name of the folder; null while no process is ready',
    }),
    family: Type.Union([Type.String(), Type.Null()], {
      description:
        'null while no process is ready, and where an older version of this program runs the model',
    }),
  },
  { description: 'The model of a process that is ready.' },
);

/** GET /page/model.json: which model answers. It needs no token, and the file is no part of the described interface. */
export function modelRoute({ readiness }: ApiServices): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/page/model.json',
      {
        schema: {
          hide: true,
          response: {
            200: PageModel,
            403: Type.Ref('ApiError', { description: '`forbidden`: peer address not on the allow-list' }),
            503: Type.Ref('ApiError', { description: '`not_ready`: the service’s store is away' }),
          },
        },
      },
      async (_request, reply) => {
        // The model may be another one at every start of an inference process.
        reply.header('Cache-Control', 'no-store');
        const { processes } = await readiness.read();
        const { model, family = null } = processes.find(({ state }) => state === 'ready') ?? {};
        // Where a folder lies on the server is nobody's business outside.
        return { id: model === undefined ? null : basename(model), family };
      },
    );
  };
}
