import { ConfigError } from '../config/config-error.ts';

const MAX_PORT = 65_535;

/** @returns what a failure to listen says about the settings; the error itself when that is nothing */
export function listenFailure(
  error: unknown,
  host: string,
  port: number,
  setting: 'ASR_PORT' | 'ASR_ADMIN_PORT' = 'ASR_PORT',
): unknown {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EADDRINUSE':
      return new ConfigError(
        `port ${port} of ${host} is taken by another program: stop that one, or choose another port, e.g. ${setting}=${port < MAX_PORT ? port + 1 : port - 1}`,
      );
    case 'EACCES':
      return new ConfigError(`${setting}="${port}": this user may not listen there; choose one from 1024 up`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    // A link-local address without its zone, or a multicast one.
    case 'EINVAL':
      return new ConfigError(
        `ASR_HOST="${host}": this machine has no such address; 127.0.0.1 is for this machine alone, 0.0.0.0 for all its addresses`,
      );
    default:
      return error;
  }
}
