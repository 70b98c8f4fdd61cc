import { setTimeout as delay } from 'node:timers/promises';
import { unreachable } from '../../common/errors/errors.ts';
import { endedWithin } from '../../common/process/shutdown.ts';
import { ATTACKS, AttackUnderWay } from '../support/clients/attacks.ts';
import { type Relay, startRelay } from '../support/machine/relay.ts';
import { startRedis, type TestRedis } from '../support/redis/redis.ts';
import { beginStream, beginUpload, type Client, type Clip, clips, type Pace } from './clients.ts';
import { Leftovers } from './leftovers.ts';
import { callsAtOnce, type ModelCall, modelCalls, wrongWith } from './promises.ts';
import { KeptService, type Replica } from './service.ts';
import type { Tally } from './tally.ts';

/** From when all faults are over: for a busy machine that starts five processes. */
const READY_MS = 20_000;
/** A busy machine may take so long to hand a line on. */
const LOGGED_WITHIN_MS = 2_000;
const LOGGED_LOOK_MS = 20;
/** From when all processes are ready. */
const ANSWER_MS = 20_000;

export const REPLICAS = 3;
export const INFERENCES = 2;
/** Two seconds may come at once; 15 s is the longest recording. */
export const CLIP_SECONDS = [0.6, 2, 5, 15] as const;

export type RedisFault = 'gone' | 'hung' | 'slow' | 'full';
const SLOW_ANSWERS_MS = 150;

/** A real service with what can happen to it, and a look at what it promises all the same. */
export class ChaosService {
  readonly #service: KeptService;
  readonly #redis: TestRedis;
  readonly #relay: Relay;
  readonly #tally: Tally;
  readonly #clips: ReadonlyMap<number, Clip>;
  /** What an undisturbed run hears, by the clip's length. */
  readonly #texts = new Map<number, string>();
  readonly #events: string[] = [];
  readonly #faults: string[] = [];
  /** Faults that are not over. */
  readonly #healing = new Set<Promise<unknown>>();
  #clients: { readonly name: string; readonly client: Client; readonly ended: Promise<void> }[] = [];
  /** Clients, and what was hit, since all was well. */
  #begun = 0;
  readonly #hit = new Set<string>();
  #lastEndMs = 0;
  readonly #leftovers: Leftovers;

  private constructor(
    service: KeptService,
    redis: TestRedis,
    relay: Relay,
    tally: Tally,
    recordings: readonly Clip[],
  ) {
    this.#service = service;
    this.#redis = redis;
    this.#relay = relay;
    this.#tally = tally;
    this.#leftovers = new Leftovers(redis);
    this.#clips = new Map(recordings.map((clip) => [clip.seconds, clip]));
  }

  /** @param model as ASR_MODEL names it. @returns when it is ready, and every clip was heard once */
  static async start(model: string, tally: Tally): Promise<ChaosService> {
    const redis = await startRedis();
    const relay = await startRelay(redis.port);
    const redisUrl = `redis://127.0.0.1:${relay.port}`;
    const kept = await KeptService.start({
      redis,
      redisUrl,
      replicas: REPLICAS,
      inferences: INFERENCES,
      model,
      logLevel: 'debug',
    });
    const service = new ChaosService(kept, redis, relay, tally, clips(CLIP_SECONDS));
    try {
      await service.#listenOnce();
    } catch (error) {
      await service.stop();
      throw error;
    }
    return service;
  }

  async #listenOnce(): Promise<void> {
    await this.#service.untilReady(READY_MS);
    for (const clip of this.#clips.values()) {
      const outcome = await beginUpload(this.#replica(0).origin, clip).outcome;
      if (outcome.kind !== 'text') throw new Error(`an undisturbed upload: ${JSON.stringify(outcome)}`);
      this.#texts.set(clip.seconds, outcome.text);
    }
  }

  /** Begins an upload, or a stream where there is a pace. */
  ask(seconds: number, replica: number, pace?: Pace): void {
    const clip = this.#clips.get(seconds);
    if (clip === undefined) throw new Error(`no clip of ${seconds} s`);
    const { kept, origin } = this.#replica(replica);
    const name = `${pace === undefined ? 'upload' : `stream ${pace}`} of ${seconds} s at ${kept.name}`;
    const client = pace === undefined ? beginUpload(origin, clip) : beginStream(origin, clip, pace);
    const beganAtMs = performance.now();
    this.#begun += 1;
    const ended = client.outcome.then((outcome) => {
      this.#lastEndMs = Date.now();
      const request = { clip, pace, api: kept.name, isAlone: this.#begun === 1 };
      const wrong = wrongWith(request, outcome, this.#hit, this.#texts.get(seconds));
      const how = outcome.kind === 'error' ? outcome.code : outcome.kind;
      this.#event(`${name}: ${how}`);
      if (wrong !== undefined) this.#faults.push(`${name}: ${wrong}`);
      const kind = pace === undefined ? 'upload' : 'stream';
      this.#tally.count(`${kind}: ${how}`);
      this.#tally.took(`${kind}: ${how}`, performance.now() - beganAtMs);
      this.#clients = this.#clients.filter((other) => other.client !== client);
    });
    this.#clients.push({ name, client, ended });
  }

  /** One of the clients whose request is under way hangs up. */
  leave(which: number): void {
    this.#clients[which % this.#clients.length]?.client.leave();
  }

  /** A process gets SIGKILL or SIGTERM, and is started again when it has ended. */
  end(name: string, signal: 'SIGKILL' | 'SIGTERM'): void {
    const kept = this.#service.kept(name);
    this.#hit.add(name);
    kept.end(signal);
    this.#heals(kept.run.process.exited);
  }

  /** A process gets SIGSTOP, and SIGCONT after `ms`. */
  standStill(name: string, ms: number): void {
    this.#hit.add(name);
    const goOn = this.#service.kept(name).standStill();
    this.#heals(delay(ms).then(goOn));
  }

  /** Hostile clients attack a replica for `ms`: a tenth of what one alone is attacked with, beside seven processes. */
  attack(name: string, replica: number, ms: number): void {
    const { kept, origin } = this.#replica(replica);
    const attack = ATTACKS.find((known) => known.name === name);
    if (attack === undefined) throw new Error(`no attack "${name}"`);
    this.#hit.add(`attack on ${kept.name}`);
    const underWay = new AttackUnderWay(origin, attack, Math.ceil(attack.connections / 10));
    this.#heals(delay(ms).then(() => underWay.stop()));
  }

  /** Something is wrong with Redis for `ms`. */
  async redis(fault: RedisFault, ms: number): Promise<void> {
    this.#hit.add('redis');
    const redis = this.#redis;
    switch (fault) {
      case 'gone':
        await redis.kill();
        return this.#heals(delay(ms).then(() => redis.restart()));
      case 'hung':
        await redis.pause();
        return this.#heals(delay(ms).then(() => redis.resume()));
      case 'slow':
        this.#relay.slow(SLOW_ANSWERS_MS);
        return this.#heals(delay(ms).then(() => this.#relay.slow(0)));
      case 'full':
        await redis.client.config('SET', 'maxmemory', '1');
        return this.#heals(delay(ms).then(() => redis.client.config('SET', 'maxmemory', '0')));
      default:
        return unreachable(fault);
    }
  }

  /** A step was made. */
  step(name: string): void {
    this.#event(name);
    this.#tally.count(`step: ${name.split(' ')[0]}`);
  }

  /** What holds at any time. @throws Error with what does not */
  async check(): Promise<void> {
    const faults = [...this.#faults, ...this.#service.faults];
    const atOnce = await this.#callsAtOnce();
    if (atOnce !== undefined) faults.push(atOnce);
    for (const { name, process } of this.#service.runs)
      if (process.stderr !== '') faults.push(`${name} wrote to its standard error: ${process.stderr}`);
    if (this.#healing.size === 0) faults.push(...(await this.#leftovers.ofDead(this.#service.runs)));
    if (faults.length > 0) throw new Error(faults.join('\n'));
  }

  /** The line that a call has ended may come later than that of the next process's first: each has a pipe of its own. */
  async #callsAtOnce(): Promise<string | undefined> {
    const untilMs = performance.now() + LOGGED_WITHIN_MS;
    for (;;) {
      const calls = this.#calls();
      const atOnce = calls.length === 0 ? 'no process has logged a model call' : callsAtOnce(calls);
      if (atOnce === undefined || performance.now() > untilMs) return atOnce;
      await delay(LOGGED_LOOK_MS);
    }
  }

  /** Waits until nothing is under way, and looks whether everything is as it was. @throws Error with what is not */
  async settle(): Promise<void> {
    await Promise.all(this.#healing);
    const healedAtMs = Date.now();
    await this.#service.untilReady(READY_MS);
    const readyAtMs = Date.now();
    this.#tally.took('all processes ready after a fault', readyAtMs - healedAtMs);
    await endedWithin(Promise.all(this.#clients.map(({ ended }) => ended)), ANSWER_MS);
    const [open] = this.#clients;
    if (open) throw new Error(`${open.name}: no answer ${ANSWER_MS} ms after all faults were over`);
    const takenMs = await this.#leftovers.slotFree(() => Math.max(readyAtMs, this.#goneAtMs()));
    this.#tally.took('slot taken after everybody was gone', takenMs);
    for (const { kept, origin } of this.#service.replicas) {
      const [clip] = this.#clips.values();
      const outcome = clip && (await beginUpload(origin, clip).outcome);
      if (outcome?.kind !== 'text')
        throw new Error(`${kept.name} does not serve: ${JSON.stringify(outcome)}`);
    }
    await this.#leftovers.none(this.#hit);
    await this.check();
    this.#begun = 0;
    this.#hit.clear();
  }

  /** What happened and what the processes logged, line by line. */
  timeline(): string {
    const timeOf = (line: string): string => /"time":"([^"]+)"/.exec(line)?.[1] ?? '';
    const lines = this.#service.runs.flatMap(({ process }) => process.stdout.split('\n'));
    const sorted = [...this.#events, ...lines].sort((one, other) => timeOf(one).localeCompare(timeOf(other)));
    return sorted.filter((line) => line !== '').join('\n');
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.#healing);
    for (const { client } of this.#clients) client.leave();
    await this.#service.stop();
    await this.#relay.stop();
    await this.#redis.stop();
  }

  #replica(index: number): Replica {
    const replica = this.#service.replicas[index];
    if (replica === undefined) throw new Error(`no api ${index}`);
    return replica;
  }

  #calls(): ModelCall[] {
    return modelCalls(this.#service.inferences.flatMap(({ runs }) => runs));
  }

  /** The last end of a client, a process or a model call. */
  #goneAtMs(): number {
    const ends = this.#service.runs.map(({ endedAtMs }) => endedAtMs).filter(Number.isFinite);
    const callEnds = this.#calls().map(({ endedAtMs }) => Math.min(endedAtMs, Date.now()));
    return Math.max(this.#lastEndMs, ...ends, ...callEnds);
  }

  #heals(healing: Promise<unknown>): void {
    this.#healing.add(healing);
    // One that fails stays, for settle() to throw.
    healing.then(
      () => this.#healing.delete(healing),
      () => undefined,
    );
  }

  #event(msg: string): void {
    this.#events.push(JSON.stringify({ process: 'chaos', time: new Date().toISOString(), msg }));
  }
}
