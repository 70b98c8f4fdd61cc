import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EngineChildOptions, EngineChildReply } from './engine-child.ts';

type Recognized = Extract<EngineChildReply, { type: 'recognized' }>;

/** An engine in a process of its own, and what it measured. */
export class EngineProcess {
  readonly results: Recognized[] = [];
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Loads the model and recognizes the clip once, which is not measured. */
  static async start(options: EngineChildOptions): Promise<EngineProcess> {
    const child = fork(fileURLToPath(new URL('./engine-child.js', import.meta.url)), [
      JSON.stringify(options),
    ]);
    const process = new EngineProcess(child);
    await process.#reply();
    return process;
  }

  async recognize(): Promise<void> {
    this.#child.send('recognize');
    const reply = await this.#reply();
    if (reply.type === 'recognized') this.results.push(reply);
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }

  async #reply(): Promise<EngineChildReply> {
    const abort = new AbortController();
    const died = once(this.#child, 'exit', { signal: abort.signal }).then(([code]) => {
      throw new Error(`the engine's process ended with ${code}`);
    });
    try {
      const message = once(this.#child, 'message', { signal: abort.signal });
      const [reply] = (await Promise.race([message, died])) as [EngineChildReply];
      return reply;
    } finally {
      abort.abort();
      died.catch(() => {});
    }
  }
}
