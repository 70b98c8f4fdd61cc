import { isLoopback } from './addresses.ts';
import { fail } from './config-error.ts';
import { type Environment, integer, text, token } from './environment.ts';

export type AdminPortName = 'ASR_ADMIN_PORT' | 'ASR_INFERENCE_ADMIN_PORT';

/** Where a process shows its metrics. */
export interface AdminConfig {
  readonly host: string;
  readonly port: number;
  /** The Bearer token that each request must carry. Undefined, on loopback alone, if none is asked for. */
  readonly token: string | undefined;
}

/** @returns undefined where the port is not set: then there is no server. @throws ConfigError */
export function adminConfig(env: Environment, portName: AdminPortName): AdminConfig | undefined {
  const admin = {
    host: text(env, 'ASR_ADMIN_HOST') ?? '127.0.0.1',
    port: integer(env, portName, 0, 65_535),
    token: token(env, 'ASR_ADMIN_TOKEN'),
  };
  const { host, port } = admin;
  if (port === undefined) return undefined;
  if (admin.token === undefined && !isLoopback(host))
    fail(
      'ASR_ADMIN_HOST',
      host,
      'is an address that other machines reach: set ASR_ADMIN_TOKEN as well, e.g. from: openssl rand -hex 24, or leave the address out for 127.0.0.1',
    );
  return { ...admin, port };
}
