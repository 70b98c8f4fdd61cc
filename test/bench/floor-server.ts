/**
 * What an upload costs at the least: a bare fastify route that takes the file out of the same multipart body, and two Redis round trips, one behind the
 * other. A process of its own, as the API is; REDIS_URL and ASR_PORT as for the API.
 */
import type { IncomingMessage } from 'node:http';
import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { fileOf } from './form-file.ts';

const redis = new Redis(process.env['REDIS_URL'] ?? '');
const app = fastify({ bodyLimit: 1024 * 1024 });
app.addContentTypeParser('multipart/form-data', (_request: unknown, body: IncomingMessage) => fileOf(body));
/** The round trips carry the file to Redis and back: an inference that is another process cannot have it for less. */
app.post<{ Body: Buffer }>('/floor', async (request) => {
  await redis.set('floor', request.body);
  const file = await redis.getBuffer('floor');
  return { bytes: file?.length };
});
/** The round trips carry nothing. */
app.post<{ Body: Buffer }>('/empty-floor', async (request) => {
  await redis.ping();
  await redis.ping();
  return { bytes: request.body.length };
});
await app.listen({ host: '127.0.0.1', port: Number(process.env['ASR_PORT']) });
