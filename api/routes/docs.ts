import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyPluginAsync } from 'fastify';
import { packageRoot } from '../../common/process/package-root.ts';
import { publicPath } from '../docs/openapi.ts';
import { DOCS_POLICY, PAGE_HEADERS } from './policies.ts';
import { referenceRoutes } from './reference.ts';
import { revalidate } from './revalidation.ts';

/** Swagger UI's dark colours, which its other layout would switch on. */
const DARK_MODE = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();`;
/** Its dark mode leaves these headings dark on dark. */
const DARK_HEADINGS = `.dark-mode .swagger-ui .opblock-tag { color: #e4e6e6 }
.dark-mode .swagger-ui .opblock-tag svg { fill: #e4e6e6 }`;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The routes for reading: /api-docs, /openapi.json, the reference and the recording page at /. */
export function docsRoutes(publicBaseUrl: string): FastifyPluginAsync {
  return async (app) => {
    const root = packageRoot();
    app.addHook('onSend', revalidate);
    app.addHook('onSend', async (_request, reply) => {
      reply.header('X-Content-Type-Options', 'nosniff');
    });

    await app.register(swaggerUi, {
      routePrefix: '/api-docs',
      indexPrefix: publicPath(publicBaseUrl),
      staticCSP: DOCS_POLICY,
      theme: {
        title: 'Chinese speech recognition: API',
        js: [{ filename: 'dark-mode.js', content: DARK_MODE }],
        css: [{ filename: 'dark-mode.css', content: DARK_HEADINGS }],
      },
      // The other layout has a bar for opening other descriptions. The policy refuses those.
      uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, validatorUrl: null },
    });

    app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());

    await app.register(referenceRoutes(publicBaseUrl));

    app.get('/', { schema: { hide: true } }, async (_request, reply) => {
      const html = await readFile(join(root, 'page', 'index.html'), 'utf8');
      return reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(html);
    });

    app.get<{ Params: { file: string } }>(
      '/page/:file',
      { schema: { hide: true } },
      async (request, reply) => {
        const match = /^[a-z0-9-]+\.(js|css|svg)$/.exec(request.params.file);
        const [file, extension = ''] = match ?? [];
        const type = CONTENT_TYPES[extension];
        if (file === undefined || type === undefined) return reply.callNotFound();
        const folder = extension === 'js' ? join(root, 'dist', 'page') : join(root, 'page');
        const content = await readFile(join(folder, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') return undefined;
          throw error;
        });
        if (content === undefined) return reply.callNotFound();
        return reply.headers(PAGE_HEADERS).type(type).send(content);
      },
    );
  };
}
