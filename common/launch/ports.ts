import { once } from 'node:events';
import { createServer } from 'node:net';
import { listenFailure } from '../listen-failure.ts';

/** A TCP port on 127.0.0.1 that was free a moment ago. */
export function freePort(): Promise<number> {
  return listenOnce('127.0.0.1', 0);
}

/**
 * Looks whether the service can listen there, before anything is started for it.
 * @returns the port, which for 0 is a free one
 * @throws ConfigError when it cannot
 */
export async function checkPort(host: string, port: number): Promise<number> {
  try {
    return await listenOnce(host, port);
  } catch (error) {
    throw listenFailure(error, host, port);
  }
}

async function listenOnce(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error(`no port on ${host}`);
  return address.port;
}
