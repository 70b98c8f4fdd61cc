import type { AdminPortName } from '../config/admin.ts';
import { ConfigError } from '../config/config-error.ts';

const MAX_PORT = 65_535;

/** The settings by which a server was told where to listen. */
interface ListenSettings {
  readonly host: 'ASR_HOST' | 'ASR_ADMIN_HOST';
  readonly port: 'ASR_PORT' | AdminPortName;
}
const SERVICE: ListenSettings = { host: 'ASR_HOST', port: 'ASR_PORT' };

/** @throws ConfigError naming the setting that is wrong; what else hinders the server */
export async function listen(
  server: { listen(address: { host: string; port: number }): Promise<unknown> },
  host: string,
  port: number,
  settings = SERVICE,
): Promise<void> {
  try {
    // Given localhost, Fastify serves its second address by a bare server. That one lacks what was set up on
    // the first, and escapes its shutdown.
    await server.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port });
  } catch (error) {
    throw listenFailure(error, host, port, settings);
  }
}

/** @returns what a failure to listen says about the settings; the error itself when that is nothing */
export function listenFailure(
  error: unknown,
  host: string,
  port: number,
  settings: ListenSettings = SERVICE,
): unknown {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EADDRINUSE':
      return new ConfigError(
        `port ${port} of ${host} is taken by another program: stop that one, or choose another port, e.g. ${settings.port}=${port < MAX_PORT ? port + 1 : port - 1}`,
      );
    case 'EACCES':
      return new ConfigError(
        `${settings.port}="${port}": this user may not listen there; choose one from 1024 up`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    // A link-local address without its zone, or a multicast one.
    case 'EINVAL':
      return new ConfigError(
        `${settings.host}="${host}": this machine has no such address; 127.0.0.1 is for this machine alone, 0.0.0.0 for all its addresses`,
      );
    default:
      return error;
  }
}
