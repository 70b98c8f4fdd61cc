import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readStoreConfig } from '../../../common/config/config.ts';
import { ConfigError, EXIT_CONFIG, EXIT_USAGE } from '../../../common/config/config-error.ts';
import { type Environment, text } from '../../../common/config/environment.ts';
import { unknownNameLines } from '../../../common/config/known-names.ts';
import { StoreUnavailable } from '../../../common/errors/errors.ts';
import { packageVersion } from '../../../common/process/package-root.ts';
import { closeRedis, connectRedis, whenReady } from '../../../common/redis/connection.ts';
import { privateRedisUrl } from '../../../common/redis/private-redis.ts';
import { reasonOf, remedyFor } from '../../../common/redis/remedies.ts';
import { Store } from '../../../common/redis/store.ts';
import { type Finding, findings, type Wording } from './findings.ts';
import { type Dialogue, freeSlot } from './free-slot.ts';
import { screen } from './screen.ts';
import { type Status, StatusReader } from './status.ts';

const IN_CONTAINER = 'node dist/api/operations/status/main.js';
const WAIT_FOR_REDIS_MS = 3_000;
const WATCH_MS = 1_000;

const usage = (command: string): string => `${command} [--json] [--watch]
  the slot, the queue, the recognizers and Redis, with what is wrong and what to do
  --json   one JSON object; --watch   again every second
${command} free-slot [--yes]
  shows who has the slot, asks, and frees it; --yes does not ask
In a container: docker compose exec api ${IN_CONTAINER}`;

export interface CommandContext extends Dialogue {
  readonly env: Environment;
  /** For what is wrong with the command itself. */
  complain(line: string): void;
  /** Takes away what a terminal shows. */
  clear(): void;
  /** Ends `--watch`. */
  readonly signal: AbortSignal;
}

/** @returns the exit code: 0 all is well, 1 something is wrong, 64 wrong arguments, 78 a wrong setting */
export async function runStatus(args: readonly string[], context: CommandContext): Promise<number> {
  const { env, print, complain } = context;
  for (const line of unknownNameLines(env)) complain(line);
  const command = env['npm_lifecycle_event'] === 'status' ? 'npm run status --' : IN_CONTAINER;
  let request: Request;
  try {
    request = parse(args);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Node's advice behind the first sentence is for programs that take names with a dash in front.
    complain(`status: ${error.message.split(/\.\s/)[0]}\n${usage(command)}`);
    return EXIT_USAGE;
  }
  if (request.values.help === true) {
    print(usage(command));
    return 0;
  }
  try {
    return await carryOut(request, { command, version: packageVersion() }, context);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    complain(`status: ${error.message}. With Docker Compose: docker compose exec api ${IN_CONTAINER}`);
    return EXIT_CONFIG;
  }
}

type Request = ReturnType<typeof parse>;

/** @throws TypeError */
function parse(args: readonly string[]) {
  const flag = { type: 'boolean' } as const;
  const options = { json: flag, watch: flag, yes: flag, help: { ...flag, short: 'h' } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [command, ...others] = positionals;
  if ((command !== undefined && command !== 'free-slot') || others.length > 0)
    throw new TypeError(`not a command: ${positionals.join(' ')}`);
  return { values, freesSlot: command === 'free-slot' };
}

async function carryOut(
  { values, freesSlot }: Request,
  wording: Wording,
  context: CommandContext,
): Promise<number> {
  const { env, print, signal } = context;
  const { redis: target, keyPrefix } = readStoreConfig({
    ...env,
    REDIS_URL: text(env, 'REDIS_URL') ?? privateRedisUrl(),
  });
  let todo = 'look whether it runs, and whether REDIS_URL is right';
  const redis = connectRedis(target, 'commands', 'asr-status', (error) => {
    todo = remedyFor(reasonOf(error)) ?? todo;
  });
  const reader = new StatusReader(new Store(redis, keyPrefix));
  const show = (found: readonly Finding[], status?: Status): void => {
    if (values.watch) context.clear();
    // A slot that is free is null, so that a script finds the name.
    const known = (_name: string, value: unknown): unknown => value ?? null;
    if (values.json) print(JSON.stringify({ ...status, findings: found }, known));
    else print(screen(status, found));
  };
  /** @returns whether all is well */
  const look = async (act: () => Promise<boolean>): Promise<boolean> => {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      show([{ about: 'redis', wrong: 'it does not answer', todo }]);
      return false;
    }
  };
  const showStatus = async (): Promise<boolean> => {
    const status = await reader.read();
    const found = findings(status, wording);
    show(found, status);
    return found.length === 0;
  };
  try {
    await whenReady(redis, WAIT_FOR_REDIS_MS);
    if (freesSlot) return (await look(() => freeSlot(reader, values.yes === true, context))) ? 0 : 1;
    let isWell = await look(showStatus);
    while (values.watch && !signal.aborted) {
      await delay(WATCH_MS, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) isWell = await look(showStatus);
    }
    return isWell ? 0 : 1;
  } finally {
    closeRedis(redis);
  }
}
