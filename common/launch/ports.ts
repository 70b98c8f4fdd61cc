import { once } from 'node:events';
import { createServer } from 'node:net';
import { ConfigError } from '../config.ts';

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
    switch (error instanceof Error && 'code' in error ? error.code : undefined) {
      case 'EADDRINUSE':
        throw new ConfigError(
          `port ${port} of ${host} is taken by another program: stop that one, or choose another port, e.g. ASR_PORT=${port + 1}`,
        );
      case 'EACCES':
        throw new ConfigError(`ASR_PORT="${port}": this user may not listen there; choose one from 1024 up`);
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new ConfigError(
          `ASR_HOST="${host}": this machine has no such address; 127.0.0.1 is for this machine alone, 0.0.0.0 for all its addresses`,
        );
      default:
        throw error;
    }
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
