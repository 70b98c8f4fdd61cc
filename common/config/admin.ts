import { isLoopback } from './addresses.ts';
import { fail } from './config-error.ts';
import { type Environment, readAll, type Settings, text, token } from './environment.ts';

export type AdminPortName = 'ASR_ADMIN_PORT' | 'ASR_INFERENCE_ADMIN_PORT';

export const ADMIN = {
  host: ['ASR_ADMIN_HOST', (env, name) => text(env, name) ?? '127.0.0.1'],
  /** The Bearer token that each request must carry. Undefined, on loopback alone, if none is asked for. */
  token: ['ASR_ADMIN_TOKEN', token],
} as const satisfies Settings;

/** Where a process shows its metrics. */
export type AdminConfig = NonNullable<ReturnType<typeof adminConfig>>;

/** @returns undefined where there is no port: then there is no server. @throws ConfigError */
export function adminConfig(env: Environment, port: number | undefined) {
  const admin = readAll(ADMIN, env);
  if (port === undefined) return undefined;
  if (admin.token === undefined && !isLoopback(admin.host))
    fail(
      'ASR_ADMIN_HOST',
      admin.host,
      'is an address that other machines reach: set ASR_ADMIN_TOKEN as well, e.g. from: openssl rand -hex 24, or leave the address out for 127.0.0.1',
    );
  return { ...admin, port };
}
