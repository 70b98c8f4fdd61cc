import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { packageRoot } from '../../common/process/package-root.ts';
import { isLoopbackUrl } from '../docs/openapi.ts';
import {
  browserExamples,
  type Language,
  referencePage,
  wantedLanguage,
  withBaseUrl,
} from '../docs/reference-page.ts';
import { EXAMPLE_HEADERS, PAGE_HEADERS } from './policies.ts';

const HTML = 'text/html; charset=utf-8';

/**
 * The service's address for this reader: the public one, or else the one that has just worked. Its parts are
 * what the client, or a proxy for it, said.
 */
function baseUrl({ protocol, host }: FastifyRequest, publicBaseUrl: string): string {
  const own = `${protocol}://${host}`;
  return isLoopbackUrl(publicBaseUrl) && /^https?:\/\/[\w.:[\]-]+$/.test(own) ? own : publicBaseUrl;
}

/**
 * The reference: /api-reference.md, the same as a page at /api-reference, and its browser examples, ready to
 * try, under /examples/. In Chinese it is /api-reference.zh-CN.md. The page comes in the language that the
 * browser asks for, and in either at an address of its own.
 */
export function referenceRoutes(publicBaseUrl: string): FastifyPluginAsync {
  return async (app) => {
    const file = (name: string): Promise<string> =>
      readFile(join(packageRoot(), 'api', 'docs', 'reference', name), 'utf8');
    const markdown = await file('api-reference.md');
    const chinese = await file('api-reference.zh-CN.md');
    const styles = 'api-reference.css';
    const pages: Readonly<Record<Language, string>> = {
      en: referencePage(markdown, styles),
      'zh-CN': referencePage(chinese, styles, 'zh-CN', markdown),
    };
    const examples = browserExamples(markdown);
    const hidden = { schema: { hide: true } };

    for (const [path, text] of [
      ['/api-reference.md', markdown],
      ['/api-reference.zh-CN.md', chinese],
    ] as const) {
      app.get(path, hidden, async (request, reply) =>
        reply
          .type('text/markdown; charset=utf-8')
          .send(text.replaceAll('{base_url}', baseUrl(request, publicBaseUrl))),
      );
    }

    const sendPage = (request: FastifyRequest, reply: FastifyReply, language: Language): FastifyReply =>
      reply
        .headers(PAGE_HEADERS)
        .header('Content-Language', language)
        .type(HTML)
        .send(withBaseUrl(pages[language], baseUrl(request, publicBaseUrl)));

    app.get('/api-reference', hidden, async (request, reply) =>
      sendPage(
        request,
        reply.header('Vary', 'Accept-Language'),
        wantedLanguage(request.headers['accept-language']),
      ),
    );
    app.get('/api-reference.en', hidden, async (request, reply) => sendPage(request, reply, 'en'));
    app.get('/api-reference.zh-CN', hidden, async (request, reply) => sendPage(request, reply, 'zh-CN'));

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
