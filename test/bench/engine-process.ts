import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EngineChildOptions, EngineChildReply, EngineRequest, Recognized } from './engine-child.ts';

/** An engine in a process of its own. */
export class EngineProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Loads the model and recognizes a recording once, which is not measured. */
  static async start(options: EngineChildOptions, warmUp: EngineRequest): Promise<EngineProcess> {
    const child = fork(
      fileURLToPath(new URL('./engine-child.js', import.meta.url)),
      [JSON.stringify(options)],
      // Buffers stay what they are.
      { serialization: 'advanced' },
    );
    const process = new EngineProcess(child);
    await process.#reply('ready');
    await process.recognize(warmUp);
    return process;
  }

  async recognize(request: EngineRequest): Promise<Recognized> {
    this.#child.send(request);
    return this.#reply('recognized');
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }

  async #reply<Type extends EngineChildReply['type']>(
    type: Type,
  ): Promise<Extract<EngineChildReply, { type: Type }>> {
    const abort = new AbortController();
    const died = once(this.#child, 'exit', { signal: abort.signal }).then(([code]) => {
      throw new Error(`the engine's process ended with ${code}`);
    });
    try {
      const message = once(this.#child, 'message', { signal: abort.signal });
      const [reply] = await Promise.race([message, died]);
      if (reply.type !== type) throw new Error(`the engine's process answered ${reply.type}, not ${type}`);
      return reply;
    } finally {
      abort.abort();
      died.catch(() => {});
    }
  }
}
