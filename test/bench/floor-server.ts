/**
 * What an upload costs at the least: a bare fastify route that reads the same bytes whole and asks Redis twice, one question after the
 * other. A process of its own, as the API is; REDIS_URL and ASR_PORT as for the API.
 */
import { fastify } from 'fastify';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? '');
const app = fastify({ bodyLimit: 1024 * 1024 });
app.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
);
app.post<{ Body: Buffer }>('/floor', async (request) => {
  await redis.ping();
  await redis.ping();
  return { bytes: request.body.length };
});
// The same, but the two questions carry the samples there and back.
app.post<{ Body: Buffer }>('/floor-samples', async (request) => {
  await redis.set('floor', request.body);
  const bytes = await redis.getBuffer('floor');
  return { bytes: bytes?.length };
});
await app.listen({ host: '127.0.0.1', port: Number(process.env['ASR_PORT']) });
