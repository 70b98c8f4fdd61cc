import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { listenFailure } from '../../common/process/listen-failure.ts';

/**
 * Below the ports that systems hand out by themselves, to `listen(0)` and to outgoing connections (Linux from
 * 32768, RFC 6335 from 49152). So nobody else gets a free port by chance before it is used, or while the
 * program that used it starts again.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_767;
const PORTS_TO_TRY = 100;

/**
 * A TCP port of `host` that was free a moment ago.
 * @throws Error of the system when nothing can listen on `host`
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < PORTS_TO_TRY; tries += 1) {
    try {
      return await listenOnce(host, randomInt(FIRST_PORT, LAST_PORT + 1));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    }
  }
  return await listenOnce(host, 0);
}

/**
 * Looks whether the service can listen there, before anything is started for it.
 * @returns the port, which for 0 is a free one
 * @throws ConfigError when it cannot
 */
export async function checkPort(host: string, port: number): Promise<number> {
  try {
    return await (port === 0 ? freePort(host) : listenOnce(host, port));
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
