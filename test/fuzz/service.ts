import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Slot, slotHolder } from '../../common/slot/slot.ts';
import { InferenceError } from '../../inference/recognizer.ts';
import { wavFile } from '../support/audio/wav.ts';
import type { TestRedis } from '../support/redis/redis.ts';
import { type TestApi, TOKEN, upload } from '../support/service/api.ts';
import type { TestInference } from '../support/service/inference.ts';
import { keysLeft } from '../support/service/nothing-left.ts';
import { type Gate, scriptedPcm, scriptedText } from '../support/service/scripted-recognizer.ts';
import { TestService } from '../support/service/service.ts';
import { FuzzStreamClient } from './fuzz-stream-client.ts';
import { RawConnection } from './raw-connection.ts';

const SETTLE_LIMIT_MS = 8_000;
const WARN_LEVEL = 40;
/** What is logged above `info` when a model call fails, as a case may have asked for. */
const LOGGED_ABOUT_FAILED_CALLS = new Set(['session', 'upload job failed', 'upload']);
/**
 * Fastify on methods that Node's parser takes but its router does not know (those of RTSP), and the routes
 * that it then lists.
 */
const LOGGED_ABOUT_METHODS = /^the default handler for 404 did not catch this|^└── /;
const GOOD_PCM = scriptedPcm(0.1, 3);

/** The whole service on a Redis of its own, watched for everything that a case must not leave behind. */
export class FuzzService {
  readonly api: TestApi;
  readonly port: number;
  readonly #service: TestService;
  readonly #redis: TestRedis;
  readonly #inference: TestInference;
  readonly #slot: Slot;
  /** The temporary folder of this process and the working folder of its Redis: empty before, empty afterwards. */
  readonly #folder: string;
  readonly #temporaryBefore: string | undefined;
  readonly #faults: string[] = [];
  readonly #connections = new Set<{ destroy(): void }>();
  readonly #afterwards: (() => unknown)[] = [];
  #failing = false;
  #witness: RawConnection | undefined;
  /** Open sockets of this process, which has both ends of each, when no case runs. */
  #socketsAtRest = Number.POSITIVE_INFINITY;

  private constructor(service: TestService, folder: string, temporaryBefore: string | undefined) {
    this.#service = service;
    this.#redis = service.redis;
    this.#inference = service.inference;
    this.api = service.api;
    this.port = Number(new URL(this.api.origin).port);
    this.#slot = new Slot(this.#redis.store);
    this.#folder = folder;
    this.#temporaryBefore = temporaryBefore;
    process.on('unhandledRejection', this.#onFault);
    process.on('uncaughtException', this.#onFault);
  }

  static async start(): Promise<FuzzService> {
    const folder = mkdtempSync(join(tmpdir(), 'asr-fuzz-'));
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = folder;
    const service = new FuzzService(await TestService.start(), folder, before);
    await service.roundTrip();
    await service.afterCase();
    service.#socketsAtRest = openSockets();
    return service;
  }

  readonly #onFault = (error: unknown): void => {
    this.#faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  };

  /** A connection that is cut, if it is still there, when the case has ended. */
  async connect(): Promise<RawConnection> {
    const connection = await RawConnection.open(this.port);
    this.#connections.add(connection);
    return connection;
  }

  /** A stream's client, whose connection is cut then, too. */
  async openStream(headers: Readonly<Record<string, string>>): Promise<FuzzStreamClient> {
    const client = await FuzzStreamClient.open(this.port, headers);
    this.#connections.add(client);
    return client;
  }

  /** Every model call fails until the case has ended. */
  failModel(): void {
    this.#failing = true;
    this.#inference.recognizer.onCall = () => {
      throw new InferenceError('scripted failure');
    };
  }

  /** The next model call does not return before it is released, at the latest when the case has ended. */
  holdModel(): Gate {
    const gate = this.#inference.recognizer.hold();
    this.#afterwards.push(() => gate.release());
    return gate;
  }

  /** Somebody else has the slot until the case has ended. */
  async occupySlot(): Promise<void> {
    const since = new Date().toISOString();
    const holder = slotHolder({ id: 'somebody', via: 'http', replica: 'elsewhere:1', since });
    if ((await this.#slot.acquire(holder)) === undefined) throw new Error('the slot is taken');
    this.#afterwards.push(() => this.#slot.release(holder));
  }

  /**
   * Two requests and answers on another connection, one that lasts for all cases: by then, what was sent
   * before has been read.
   */
  async roundTrip(): Promise<void> {
    this.#witness ??= await RawConnection.open(this.port);
    const before = this.#witness.answers().length;
    for (const count of [1, 2]) {
      this.#witness.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      const answer = (await this.#witness.answersUntil(before + count))[before + count - 1];
      if (answer?.status !== 200) throw new Error(`/healthz on another connection: ${answer?.status}`);
    }
    this.#witness.forget();
  }

  /**
   * @throws Error unless the service is as it was before the case: slot free, no key, no fault, nothing
   * secret logged, the next request served.
   */
  async afterCase(): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
    this.#connections.clear();
    for (const undo of this.#afterwards.splice(0)) await undo();
    await this.#settled();
    const failing = this.#failing;
    this.#failing = false;
    this.#inference.recognizer.onCall = () => {};
    await this.#nextIsServed();
    this.#readLogs(failing);
    const faults = this.#faults.splice(0);
    if (faults.length > 0) throw new Error(`the case left behind: ${faults.join('\n')}`);
  }

  async #nextIsServed(): Promise<void> {
    const deadline = performance.now() + SETTLE_LIMIT_MS;
    for (;;) {
      const { status, body } = await upload(this.api.origin, wavFile(GOOD_PCM));
      if (status === 200 && body['text'] === scriptedText(GOOD_PCM)) return;
      // A `start` whose client was refused or left meanwhile can still take the slot, and gives it back at once.
      if (status !== 409 || performance.now() > deadline) {
        this.#faults.push(`the next request got ${status} ${JSON.stringify(body)}`);
        return;
      }
    }
  }

  async #settled(): Promise<void> {
    const deadline = performance.now() + SETTLE_LIMIT_MS;
    for (;;) {
      const left = await keysLeft(this.#redis);
      const sockets = openSockets() - this.#socketsAtRest;
      if (left.length === 0 && sockets <= 0) return;
      if (performance.now() > deadline) {
        if (left.length > 0) {
          this.#faults.push(`keys in Redis: ${left.join(' ')}`);
          await this.#redis.client.del(...left);
        }
        if (sockets > 0) {
          this.#faults.push(`${sockets} open sockets`);
          this.#socketsAtRest += sockets;
        }
        return;
      }
      await delay(1);
    }
  }

  #readLogs(failing: boolean): void {
    const raw = this.api.rawLog.join('');
    if (raw.includes(TOKEN)) this.#faults.push('the token is in the log');
    if (/\p{Script=Han}/u.test(raw)) this.#faults.push('text is in the log');
    for (const line of [...this.api.log, ...this.#inference.log]) {
      const message = String(line['msg']);
      const expected =
        (failing && LOGGED_ABOUT_FAILED_CALLS.has(message)) || LOGGED_ABOUT_METHODS.test(message);
      if (Number(line['level']) >= WARN_LEVEL && !expected) this.#faults.push(JSON.stringify(line));
    }
    for (const error of this.#inference.fatal) this.#onFault(error);
    for (const lines of [this.api.rawLog, this.api.log, this.#inference.log, this.#inference.fatal])
      lines.splice(0);
    this.#inference.recognizer.calls.splice(0);
  }

  /** @throws Error when a file was written. */
  async stop(): Promise<void> {
    this.#witness?.destroy();
    await this.#service.stop();
    process.off('unhandledRejection', this.#onFault);
    process.off('uncaughtException', this.#onFault);
    if (this.#temporaryBefore === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = this.#temporaryBefore;
    // Where Redis runs in a container, testcontainers leaves a lock of its own.
    const files = readdirSync(this.#folder).filter((name) => !name.startsWith('testcontainers-'));
    rmSync(this.#folder, { recursive: true });
    if (files.length > 0) throw new Error(`files were written: ${files.join(' ')}`);
    if (this.#faults.length > 0) throw new Error(this.#faults.join('\n'));
  }
}

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length;
}
