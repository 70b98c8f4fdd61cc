import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../../common/process/package-root.ts';
import type { ModelCall } from './scripted-recognizer.ts';

export type ToProcess = { type: 'hold' } | { type: 'release' } | { type: 'crash' };
export type FromProcess =
  | { type: 'ready' }
  | { type: 'holding' }
  | { type: 'held' }
  | { type: 'call'; call: ModelCall };

/** A child process of the built program, with what it wrote and how it ended. */
export class ProcessUnderTest {
  readonly child: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stdout = '';
  stderr = '';

  /** @param script below `dist/` */
  constructor(script: string, env: Readonly<Record<string, string>>, args: readonly string[] = []) {
    this.child = spawn(process.execPath, [join(packageRoot(), 'dist', script), ...args], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.child.stdout?.on('data', (text) => {
      this.stdout += text;
    });
    this.child.stderr?.on('data', (text) => {
      this.stderr += text;
    });
    this.exited = once(this.child, 'close').then(([code, signal]) => ({ code, signal }));
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async stop(): Promise<void> {
    // A stopped process must be continued to see anything but SIGKILL.
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Resolves with the first log line of this `msg`. @throws Error if the process ends without it */
  async firstLogged(msg: string): Promise<Record<string, unknown>> {
    const ended = this.exited.then(() => {
      throw new Error(`the process has ended without "${msg}":\n${this.stdout}${this.stderr}`);
    });
    ended.catch(() => undefined);
    for (;;) {
      const [line] = this.logged(msg);
      if (line !== undefined) return line;
      if (this.child.stdout !== null) await Promise.race([once(this.child.stdout, 'data'), ended]);
    }
  }

  /** Log lines with this `msg`. */
  logged(msg: string): Record<string, unknown>[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{'))
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter((line) => line['msg'] === msg);
  }
}

/** An inference process with the scripted recognizer. */
export class ScriptedProcess extends ProcessUnderTest {
  readonly calls: ModelCall[] = [];
  readonly #seen: FromProcess['type'][] = [];

  constructor(redisUrl: string, env: Readonly<Record<string, string>> = {}) {
    super('test/support/service/scripted-inference.js', { REDIS_URL: redisUrl, ...env });
    this.child.on('message', (message: FromProcess) => {
      if (message.type === 'call') this.calls.push(message.call);
      this.#seen.push(message.type);
    });
  }

  static async start(redisUrl: string, env: Readonly<Record<string, string>> = {}): Promise<ScriptedProcess> {
    const process = new ScriptedProcess(redisUrl, env);
    await process.#heard('ready');
    return process;
  }

  /** One that is killed in its first model call. */
  static async killedInCall(redisUrl: string): Promise<void> {
    const process = new ScriptedProcess(redisUrl);
    await process.hold();
    await process.held();
    await process.stop();
  }

  /** Holds the next model call; resolves when the process knows. */
  async hold(): Promise<void> {
    this.#tell({ type: 'hold' });
    await this.#heard('holding');
  }

  /** Resolves when a held model call has begun. */
  async held(): Promise<void> {
    await this.#heard('held');
  }

  release(): void {
    this.#tell({ type: 'release' });
  }

  /** The process ends by itself, in the middle of what it does. */
  crash(): void {
    this.#tell({ type: 'crash' });
  }

  #tell(message: ToProcess): void {
    this.child.send(message);
  }

  async #heard(type: FromProcess['type']): Promise<void> {
    while (!this.#seen.includes(type)) {
      const ended = this.exited.then(() => {
        throw new Error(`the process has ended while ${type} was waited for:\n${this.stdout}${this.stderr}`);
      });
      await Promise.race([once(this.child, 'message'), ended]);
    }
    this.#seen.splice(this.#seen.indexOf(type), 1);
  }
}
