import { printable } from '../errors/printable.ts';
import { SETTING_NAMES } from './config.ts';
import type { Environment } from './environment.ts';
import { nearest } from './nearest.ts';

/** Everything of this project that reads a variable of this beginning: the servers, the commands, the client, the tests. */
const KNOWN: readonly string[] = [
  ...SETTING_NAMES,
  'ASR_URL',
  'ASR_MODEL_MIRROR',
  'ASR_TEST_REDIS_IMAGE',
  'ASR_REDIS_IMAGES',
  'ASR_API_MEMORY',
  'ASR_INFERENCE_MEMORY',
  'ASR_SERVICE_MEMORY',
  'ASR_SERVICES',
  'ASR_CLIENT_CONNECTIONS',
];
/** Kubernetes sets these for a Service called asr, or asr-api. */
const OF_KUBERNETES = /^ASR_(?:.+_)?(?:SERVICE|PORT)_/;

/** A variable that looks like a setting and is none. */
interface UnknownName {
  readonly name: string;
  readonly todo: string;
}

/** @returns those that nobody reads, which are mostly misspelt */
export function unknownNames(env: Environment): UnknownName[] {
  const names = Object.keys(env).filter(
    (name) =>
      name.startsWith('ASR_') &&
      !KNOWN.includes(name) &&
      !OF_KUBERNETES.test(name) &&
      !env[name]?.startsWith('tcp://'),
  );
  return names.map((name) => {
    const meant = nearest(name, KNOWN);
    return { name, todo: meant === undefined ? 'docs/configuration.md names all' : `did you mean ${meant}?` };
  });
}

/** The same for a person, a line each. */
export function unknownNameLines(env: Environment): string[] {
  return unknownNames(env).map(({ name, todo }) =>
    printable(`${name} is no setting and changes nothing: ${todo}`),
  );
}
