import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { packageRoot } from '../../common/process/package-root.ts';
import { isLoopbackUrl, publicPath } from '../docs/openapi.ts';
import { revalidate } from './revalidation.ts';

/** Nothing from another host, no inline script: the page is its own files and talks to this server only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  'media-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE_POLICY = `${POLICY}; require-trusted-types-for 'script'; trusted-types 'none'`;

/** Swagger UI, served from here as well: it sets styles on its elements, makes them from strings (so no trusted types), and holds its pictures itself. */
const DOCS_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
  "img-src 'self'",
  "img-src 'self' data:",
);

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

/** The service's address for this reader: the public one, or else the one that has just worked. Its parts are what the client, or a proxy for it, said. */
function baseUrl({ protocol, host }: FastifyRequest, publicBaseUrl: string): string {
  const own = `${protocol}://${host}`;
  return isLoopbackUrl(publicBaseUrl) && /^https?:\/\/[\w.:[\]-]+$/.test(own) ? own : publicBaseUrl;
}

/** The routes for reading: /api-docs, /openapi.json, /api-reference.md and the recording page at /. */
export function docsRoutes(publicBaseUrl: string): FastifyPluginAsync {
  return async (app) => {
    const root = packageRoot();
    const pageHeaders = {
      'Content-Security-Policy': PAGE_POLICY,
      'Referrer-Policy': 'no-referrer',
    };
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
      // The other layout has a bar in which to open other descriptions, which the policy refuses.
      uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, validatorUrl: null },
    });

    app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());

    app.get('/api-reference.md', { schema: { hide: true } }, async (request, reply) => {
      const markdown = await readFile(join(root, 'api', 'docs', 'reference', 'api-reference.md'), 'utf8');
      return reply
        .type('text/markdown; charset=utf-8')
        .send(markdown.replaceAll('{base_url}', baseUrl(request, publicBaseUrl)));
    });

    app.get('/', { schema: { hide: true } }, async (_request, reply) => {
      const html = await readFile(join(root, 'api', 'page', 'index.html'), 'utf8');
      return reply.headers(pageHeaders).type('text/html; charset=utf-8').send(html);
    });

    app.get<{ Params: { file: string } }>(
      '/page/:file',
      { schema: { hide: true } },
      async (request, reply) => {
        const match = /^[a-z0-9-]+\.(js|css|svg)$/.exec(request.params.file);
        const [file, extension = ''] = match ?? [];
        const type = CONTENT_TYPES[extension];
        if (file === undefined || type === undefined) return reply.callNotFound();
        const folder = extension === 'js' ? join(root, 'dist', 'page') : join(root, 'api', 'page');
        const content = await readFile(join(folder, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') return undefined;
          throw error;
        });
        if (content === undefined) return reply.callNotFound();
        return reply.headers(pageHeaders).type(type).send(content);
      },
    );
  };
}
