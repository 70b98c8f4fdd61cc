import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { localOrigin } from '../../common/config/addresses.ts';
import { type CommonConfig, readApiConfig, readInferenceConfig } from '../../common/config/config.ts';
import { ConfigError, EXIT_CONFIG } from '../../common/config/config-error.ts';
import type { Environment } from '../../common/config/environment.ts';
import { unknownNameLines, unknownNames } from '../../common/config/known-names.ts';
import { messageOf } from '../../common/errors/errors.ts';
import { packageRoot } from '../../common/process/package-root.ts';
import { SAME_SIGNAL_MS } from '../../common/process/shutdown.ts';
import { showPrivateRedis } from '../../common/redis/private-redis.ts';
import { ModelFailure } from '../../models/failure.ts';
import { locateModel } from '../../models/store/locate.ts';
import { strangeForm } from '../../models/store/model-files.ts';
import { announcement, type Service } from './announcement.ts';
import { type Run, SupervisedProcess, type SupervisedProcessOptions } from './child-process.ts';
import { startRedis } from './embedded-redis.ts';
import { startOrphanWatch } from './orphan-watch.ts';
import { checkPort } from './ports.ts';
import { startServer } from './server-process.ts';
import { whenServing } from './when-serving.ts';

/** A recording may last 40 s, and both kinds of process finish the one that is active. */
const FINISH_MS = 60_000;

/**
 * Runs one api and one inference process, and a private Redis unless `REDIS_URL` names one. A signal ends it,
 * and so do settings that cannot work.
 * @param inTerminal the logs are lines for a person instead of JSON
 * @returns the exit code
 * @throws ConfigError before anything was started
 */
export async function supervise(env: Environment, inTerminal: boolean): Promise<number> {
  const startedAtMs = performance.now();
  for (const line of unknownNameLines(env)) console.error(line);
  const { service, serverEnv, ownRedis } = await prepare(env);
  /** What was started last comes first. */
  const kept: SupervisedProcess[] = [];
  let exitCode = 0;
  const force = (): void => {
    // Whoever started us must not take a recording that was cut off for one that was finished.
    exitCode = 1;
    for (const one of kept) one.kill();
  };
  const stopSignal = new Promise<void>((resolve) => onStopSignals(resolve, force));
  const announcing = new AbortController();
  let hideRedis = (): void => {};

  const watch = startOrphanWatch();
  const keep = (
    first: Run,
    options: Pick<SupervisedProcessOptions, 'name' | 'start' | 'onChange'>,
  ): Promise<void> => {
    const one = new SupervisedProcess({ ...options, say: console.log, finishMs: FINISH_MS });
    kept.unshift(one);
    return one.keep(first);
  };

  try {
    const running: Promise<void>[] = [];
    if (ownRedis) {
      const redis = await startRedis();
      serverEnv['REDIS_URL'] = redis.url;
      hideRedis = showPrivateRedis(redis.url);
      const start = (): Promise<Run> => startRedis(redis.address);
      running.push(keep(redis, { name: 'redis', start, onChange: watch.update }));
    }
    for (const name of ['inference', 'api']) {
      const program = join(packageRoot(), 'dist', name, 'main.js');
      // The token is not inference's to know.
      const start = (): Promise<Run> =>
        startServer(
          program,
          name === 'api' ? serverEnv : { ...serverEnv, ASR_API_TOKEN: undefined },
          inTerminal,
        );
      running.push(keep(await start(), { name, start }));
    }
    const say = (seconds: string): void =>
      console.log(`ready after ${seconds} s\n${announcement(service, packageRoot(), inTerminal)}\n`);
    void announce(service, readApiConfig(serverEnv), startedAtMs, announcing.signal, say);
    await Promise.race([stopSignal, Promise.all(running)]);
    console.log('stopping (a recording that is active is finished first; Ctrl-C again stops at once)');
  } catch (error) {
    console.error(messageOf(error));
    exitCode = error instanceof ConfigError ? EXIT_CONFIG : 1;
  }
  announcing.abort();
  hideRedis();
  // The API before inference, and Redis last: what is active needs all that stands behind it.
  for (const one of kept) if (!(await one.stop())) exitCode = 1;
  await watch.close();
  return exitCode;
}

interface Prepared {
  readonly service: Service;
  readonly serverEnv: Record<string, string | undefined>;
  readonly ownRedis: boolean;
}

/** Looks at all settings first, so that a wrong one is the only line on the screen. */
async function prepare(env: Environment): Promise<Prepared> {
  const ownRedis = !env['REDIS_URL']?.trim();
  const tokenIsNew = !env['ASR_API_TOKEN']?.trim();
  const serverEnv: Record<string, string | undefined> = { ...env };
  // Said once, here.
  for (const { name } of unknownNames(env)) delete serverEnv[name];
  if (ownRedis) serverEnv['REDIS_URL'] = 'redis://127.0.0.1';
  if (tokenIsNew) serverEnv['ASR_API_TOKEN'] = randomBytes(24).toString('hex');
  const { model } = readInferenceConfig(serverEnv);
  await checkModel(model);
  const { host, port: wantedPort, apiToken: token, publicBaseUrl } = readApiConfig(serverEnv);
  const port = await checkPort(host, wantedPort);
  serverEnv['ASR_PORT'] = String(port);
  // The variables that curl reads.
  const behindProxy = ['http_proxy', 'all_proxy', 'ALL_PROXY'].some((name) => env[name]);
  const origin = localOrigin(host, port);
  const page = env['ASR_PUBLIC_BASE_URL']?.trim() ? publicBaseUrl : origin;
  const service = {
    ...{ origin, token, tokenIsNew, model, behindProxy },
    page: `${page}/`,
    tokenFile: await holder('.env', token),
  };
  return { service, serverEnv, ownRedis };
}

/**
 * The servers wait for a model that is not there yet. Whoever starts all of it by hand has rather misspelt it.
 * @throws ConfigError
 */
async function checkModel(model: string): Promise<void> {
  try {
    const { id, folder } = await locateModel(model);
    const names = await readdir(folder).catch(() => []);
    // An empty one is waited for: a volume may be filled later.
    const strange = names.length === 0 ? undefined : strangeForm(names);
    if (strange !== undefined)
      throw new ConfigError(
        `ASR_MODEL is "${id}", and ${folder} holds no model that is read here: ${strange}`,
      );
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    throw new ConfigError(error.message, { cause: error });
  }
}

/** @returns its path if the file gives this token */
async function holder(file: string, token: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return parseEnv(text)['ASR_API_TOKEN'] === token ? resolve(file) : undefined;
}

async function announce(
  service: Service,
  config: CommonConfig,
  startedAtMs: number,
  signal: AbortSignal,
  say: (seconds: string) => void,
): Promise<void> {
  try {
    await whenServing(service, config, (reason) => console.log(`not ready yet: ${reason}`), signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  say(((performance.now() - startedAtMs) / 1_000).toFixed(1));
}

/** @param force is called for a second signal */
function onStopSignals(stop: () => void, force: () => void): void {
  let firstAtMs: number | undefined;
  const onSignal = (): void => {
    if (firstAtMs === undefined) {
      firstAtMs = performance.now();
      stop();
    } else if (performance.now() - firstAtMs >= SAME_SIGNAL_MS) force();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
}
