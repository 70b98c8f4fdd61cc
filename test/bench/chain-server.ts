/**
 * The steps of an upload that the design asks for, and none of the service's own code: readiness, slot, samples, a BullMQ
 * job, its worker in a process of its own (chain-worker.ts), the result through a Redis stream. No token, check, schema,
 * log, metric, deadline or recovery. What the service takes beyond it is the service's own share.
 * With `?model` the worker runs the model, too.
 */
import type { IncomingMessage } from 'node:http';
import { Busboy } from '@fastify/busboy';
import { Queue } from 'bullmq';
import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { CHAIN, type ChainJob } from './chain.ts';

const SLOT_MS = 5_000;

const connect = (): Redis => new Redis(process.env['REDIS_URL'] ?? '', { maxRetriesPerRequest: null });
const redis = connect();
const reader = connect();
const queue = new Queue<ChainJob>(CHAIN.queueName, {
  connection: redis,
  prefix: CHAIN.prefix,
  defaultJobOptions: { removeOnComplete: true },
});
const app = fastify({ bodyLimit: 1024 * 1024 });
/** Readiness is asked for while the body comes in, as by the service. */
app.addContentTypeParser('multipart/form-data', async (_request: unknown, body: IncomingMessage) => {
  const [file] = await Promise.all([fileOf(body), redis.mget(CHAIN.slot, CHAIN.heartbeat)]);
  return file;
});
let uploads = 0;

app.post<{ Body: Buffer; Querystring: Record<string, string> }>('/chain', async (request) => {
  uploads += 1;
  const id = String(uploads);
  if ((await redis.set(CHAIN.slot, id, 'PX', SLOT_MS, 'NX')) !== 'OK') throw new Error('the slot is taken');
  const end = CHAIN.end(id);
  const [answer] = await Promise.all([
    reader.xread('COUNT', 1, 'BLOCK', SLOT_MS, 'STREAMS', end, '0'),
    redis.set(CHAIN.samples(id), request.body, 'PX', SLOT_MS),
    queue.add('upload', { id, recognizes: 'model' in request.query }, { jobId: `upload-${id}` }),
  ]);
  const fields = answer?.[0]?.[1][0]?.[1];
  if (fields === undefined) throw new Error(`no result in ${SLOT_MS} ms`);
  setImmediate(() => void redis.del(end));
  return { inference_ms: Number(fields[1]) };
});
process.send?.({ origin: await app.listen({ host: '127.0.0.1', port: 0 }) });

/** The bytes of a multipart body's file, by the parser that `@fastify/multipart` is built on, without the service's checks. */
function fileOf(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const parser = new Busboy({ headers: { 'content-type': request.headers['content-type'] ?? '' } });
    parser.on('file', (_name, file) => file.on('data', (chunk: Buffer) => chunks.push(chunk)));
    parser.on('finish', () => resolve(Buffer.concat(chunks)));
    parser.on('error', reject);
    request.pipe(parser);
  });
}
