import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { packageRoot } from '../../common/process/package-root.ts';
import { isLoopbackUrl } from '../docs/openapi.ts';
import { browserExamples, referencePage, withBaseUrl } from '../docs/reference-page.ts';
import { EXAMPLE_HEADERS, PAGE_HEADERS } from './policies.ts';

const HTML = 'text/html; charset=utf-8';

/** The service's address for this reader: the public one, or else the one that has just worked. Its parts are what the client, or a proxy for it, said. */
function baseUrl({ protocol, host }: FastifyRequest, publicBaseUrl: string): string {
  const own = `${protocol}://${host}`;
  return isLoopbackUrl(publicBaseUrl) && /^https?:\/\/[\w.:[\]-]+$/.test(own) ? own : publicBaseUrl;
}

/** The reference: /api-reference.md, the same as a page at /api-reference, and its browser examples, ready to try, under /examples/. */
export function referenceRoutes(publicBaseUrl: string): FastifyPluginAsync {
  return async (app) => {
    const file = (name: string): Promise<string> =>
      readFile(join(packageRoot(), 'api', 'docs', 'reference', name), 'utf8');
    const markdown = await file('api-reference.md');
    const page = referencePage(markdown, 'api-reference.css');
    const examples = browserExamples(markdown);
    const hidden = { schema: { hide: true } };

    app.get('/api-reference.md', hidden, async (request, reply) =>
      reply
        .type('text/markdown; charset=utf-8')
        .send(markdown.replaceAll('{base_url}', baseUrl(request, publicBaseUrl))),
    );

    app.get('/api-reference', hidden, async (request, reply) =>
      reply
        .headers(PAGE_HEADERS)
        .type(HTML)
        .send(withBaseUrl(page, baseUrl(request, publicBaseUrl))),
    );

    app.get('/api-reference.css', hidden, async (_request, reply) =>
      reply.type('text/css; charset=utf-8').send(await file('api-reference.css')),
    );

    app.get<{ Params: { file: string } }>('/examples/:file', hidden, async (request, reply) => {
      const example = examples.get(request.params.file);
      if (example === undefined) return reply.callNotFound();
      const html = example.replaceAll('{base_url}', baseUrl(request, publicBaseUrl));
      return reply.headers(EXAMPLE_HEADERS).type(HTML).send(html);
    });
  };
}
