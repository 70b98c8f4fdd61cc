import { ConfigError, fail } from './config-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One setting: its variable, and what reads it, with its type and default. @throws ConfigError */
type Setting = readonly [name: string, read: (env: Environment, name: string) => unknown];
export type Settings = Readonly<Record<string, Setting>>;
type Values<T extends Settings> = { readonly [Field in keyof T]: ReturnType<T[Field][1]> };

/** @throws ConfigError naming the first setting that is missing or wrong. */
export function readAll<T extends Settings>(settings: T, env: Environment): Values<T> {
  const values = Object.entries(settings).map(([field, [name, read]]) => [field, read(env, name)]);
  return Object.fromEntries(values) as Values<T>;
}

const MIN_TOKEN_CHARACTERS = 16;
const TOKEN_ADVICE = `give at least ${MIN_TOKEN_CHARACTERS} visible ASCII characters without blanks, e.g. from: openssl rand -hex 24`;

/** @returns the value without blanks around it; undefined where it is not set or empty */
export function text(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

/** @returns undefined where it is not set. @throws ConfigError */
export function integer(env: Environment, name: string, min: number, max: number): number | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= min && number <= max)) {
    const hint = value.startsWith('tcp://')
      ? ' (Kubernetes sets this for a Service of that name: give the pod enableServiceLinks: false)'
      : '';
    fail(name, value, `must be a whole number from ${min} to ${max}${hint}`);
  }
  return number;
}

/** @param check of one entry. @returns the entries between commas, without empty ones */
export function list(
  env: Environment,
  name: string,
  check = (_name: string, entry: string): string => entry,
): string[] {
  const entries = (text(env, name) ?? '').split(',').map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '').map((entry) => check(name, entry));
}

/** @returns one of these words; undefined where it is not set. @throws ConfigError */
export function oneOf<T extends string>(env: Environment, name: string, words: readonly T[]): T | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  const all = new Intl.ListFormat('en', { type: 'disjunction' }).format(words);
  return words.find((word) => word === value) ?? fail(name, value, `must be ${all}`);
}

/** @returns a secret; undefined where it is not set. @throws ConfigError, which does not repeat it */
export function token(env: Environment, name: string): string | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  if (/^(["']).*\1$/.test(value))
    throw new ConfigError(
      `${name} stands in quotes, which are kept by docker's -e and --env-file: write it without them`,
    );
  if (!/^[\x21-\x7e]+$/.test(value))
    throw new ConfigError(`${name} has blanks, control or non-ASCII characters: ${TOKEN_ADVICE}`);
  if (value.length < MIN_TOKEN_CHARACTERS)
    throw new ConfigError(`${name} has ${value.length} characters: ${TOKEN_ADVICE}`);
  return value;
}

/** @returns a secret that must be there. @throws ConfigError */
export function neededToken(env: Environment, name: string): string {
  return token(env, name) ?? fail(name, undefined, TOKEN_ADVICE);
}
