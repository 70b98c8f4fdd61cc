import { PrintableError } from '../errors/printable.ts';

/** A setting has a value that cannot be used. `message` is one line that names the setting, the value and what to write. */
export class ConfigError extends PrintableError {
  override readonly name = 'ConfigError';
}

/**
 * EX_CONFIG of sysexits.h: a process that cannot run with its settings or on its machine ends with it. A
 * supervisor need not try again then.
 */
export const EXIT_CONFIG = 78;

/** EX_USAGE of sysexits.h: the arguments are wrong. */
export const EXIT_USAGE = 64;

/**
 * @param value as it may be shown, without a secret; undefined where the setting is missing.
 * @param problem what to write.
 * @throws ConfigError
 */
export function fail(name: string, value: string | undefined, problem: string): never {
  throw new ConfigError(
    value === undefined ? `${name} is not set: ${problem}` : `${name}="${value}": ${problem}`,
  );
}
