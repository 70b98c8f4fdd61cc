import type { IncomingMessage } from 'node:http';
import { Busboy } from '@fastify/busboy';

/** The bytes of a multipart body's file, by the parser that `@fastify/multipart` is built on, and with none of the service's checks. */
export function fileOf(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const parser = new Busboy({ headers: { 'content-type': request.headers['content-type'] ?? '' } });
    parser.on('file', (_name, file) => file.on('data', (chunk: Buffer) => chunks.push(chunk)));
    parser.on('finish', () => resolve(Buffer.concat(chunks)));
    parser.on('error', reject);
    request.pipe(parser);
  });
}
