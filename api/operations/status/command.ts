import { parseArgs } from 'node:util';
import { readStoreConfig } from '../../../common/config/config.ts';
import { ConfigError, EXIT_CONFIG, EXIT_USAGE } from '../../../common/config/config-error.ts';
import { type Environment, text } from '../../../common/config/environment.ts';
import { unknownNameLines } from '../../../common/config/known-names.ts';
import { StoreUnavailable } from '../../../common/errors/errors.ts';
import { packageVersion } from '../../../common/process/package-root.ts';
import { reasonOf, remedyFor } from '../../../common/redis/advice/remedies.ts';
import { closeRedis, connectRedis, whenReady } from '../../../common/redis/connection.ts';
import { privateRedisUrl } from '../../../common/redis/private-redis.ts';
import { Store } from '../../../common/store/store.ts';
import { type Finding, findings } from './findings.ts';
import { screen } from './screen.ts';
import { type Status, StatusReader } from './status.ts';

const IN_CONTAINER = 'node dist/api/operations/status/main.js';
const WAIT_FOR_REDIS_MS = 3_000;

const usage = (command: string): string => `${command} [--json]
  the slot, the queue, the recognizers and Redis, with what is wrong and what to do
  --json   one JSON object
In a container: docker compose exec api ${IN_CONTAINER}`;

export interface CommandContext {
  readonly env: Environment;
  print(line: string): void;
  /** For what is wrong with the command itself. */
  complain(line: string): void;
}

/** @returns the exit code: 0 all is well, 1 something is wrong, 64 wrong arguments, 78 a wrong setting */
export async function runStatus(args: readonly string[], context: CommandContext): Promise<number> {
  const { env, print, complain } = context;
  for (const line of unknownNameLines(env)) complain(line);
  const command = env['npm_lifecycle_event'] === 'status' ? 'npm run status --' : IN_CONTAINER;
  let options: ReturnType<typeof parse>;
  try {
    options = parse(args);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Node's advice behind the first sentence is for programs that take names with a dash in front.
    complain(`status: ${error.message.split(/\.\s/)[0]}\n${usage(command)}`);
    return EXIT_USAGE;
  }
  if (options.help) {
    print(usage(command));
    return 0;
  }
  try {
    const { status, found } = await look(env);
    // A slot that is free is null, so that a script finds the name.
    const known = (_name: string, value: unknown): unknown => value ?? null;
    print(options.json ? JSON.stringify({ ...status, findings: found }, known) : screen(status, found));
    return found.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    complain(`status: ${error.message}. With Docker Compose: docker compose exec api ${IN_CONTAINER}`);
    return EXIT_CONFIG;
  }
}

/** @throws TypeError */
function parse(args: readonly string[]) {
  const flag = { type: 'boolean' } as const;
  return parseArgs({ args: [...args], options: { json: flag, help: { ...flag, short: 'h' } } }).values;
}

/** @returns what is known of the service, and what is wrong. @throws ConfigError */
async function look(env: Environment): Promise<{ status?: Status; found: readonly Finding[] }> {
  const { redis: target, keyPrefix } = readStoreConfig({
    ...env,
    REDIS_URL: text(env, 'REDIS_URL') ?? privateRedisUrl(),
  });
  let todo = 'look whether it runs, and whether REDIS_URL is right';
  const redis = connectRedis(target, 'commands', 'asr-status', (error) => {
    todo = remedyFor(reasonOf(error)) ?? todo;
  });
  const reader = new StatusReader(new Store(redis, keyPrefix));
  try {
    await whenReady(redis, WAIT_FOR_REDIS_MS);
    const status = await reader.read();
    return { status, found: findings(status, packageVersion()) };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { found: [{ about: 'redis', wrong: 'it does not answer', todo }] };
  } finally {
    closeRedis(redis);
  }
}
