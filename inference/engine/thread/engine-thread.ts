import { Worker } from 'node:worker_threads';
import { BYTES_PER_SAMPLE } from '../../../common/audio/limits.ts';
import { Deferred } from '../../../common/time/deferred.ts';
import {
  ExecutionProviderError,
  InferenceError,
  type ModelInfo,
  ModelLoadError,
  type RecognizerStream,
} from '../../recognizer.ts';
import type { EngineOptions, EngineReply, EngineRequest } from './messages.ts';

/**
 * Node 20 cannot load TypeScript in a worker thread. So if this file runs from source (tests), the worker is
 * the compiled one: `npm test` builds first.
 */
const WORKER_URL = import.meta.url.endsWith('.ts')
  ? new URL('../../../dist/inference/engine/thread/worker.js', import.meta.url)
  : new URL('./worker.js', import.meta.url);

type LoadedInfo = Omit<ModelInfo, 'loadMs'>;

/** The main thread's end of one worker thread. */
export class EngineThread {
  readonly #loading = new Deferred<LoadedInfo>();
  /** The model is ready; rejects with a ModelLoadError or ExecutionProviderError. */
  readonly loaded = this.#loading.promise;
  /** The thread has ended. */
  readonly exited: Promise<void>;
  readonly #worker: Worker;
  /** In the order in which the thread answers. */
  readonly #pending: Deferred<string>[] = [];
  readonly #log: (line: string) => void;
  #failure: Error | undefined;

  constructor(options: EngineOptions, log: (line: string) => void) {
    this.#log = log;
    // Since 1.29 onnxruntime reports its use to Microsoft and leaves files in the temporary folder, unless it
    // is told this before it is loaded.
    process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
    // At V8's default size, the young generation keeps about 20 MB for what is parsed once at the start.
    const resourceLimits = { maxYoungGenerationSizeMb: 4 };
    const settings = { workerData: options, name: 'engine', execArgv: [], resourceLimits };
    this.#worker = new Worker(WORKER_URL, settings);
    this.#worker.on('message', (reply: EngineReply) => this.#receive(reply));
    this.#worker.on('error', (cause: Error) => {
      this.#failure = cause;
    });
    this.exited = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#failPending();
        resolve();
      });
    });
  }

  /** @throws InferenceError when the request fails or the thread has ended. */
  async call(request: Exclude<EngineRequest, { type: 'shutdown' }>): Promise<string> {
    if (this.#failure !== undefined)
      throw new InferenceError(`the engine has ended: ${this.#failure.message}`);
    const answer = new Deferred<string>();
    this.#pending.push(answer);
    this.#worker.postMessage(request, 'pcm' in request ? [request.pcm.buffer] : []);
    return await answer.promise;
  }

  /** Stops the running request between two model runs and ends the thread. */
  async shutdown(): Promise<void> {
    this.#loading.reject(new ModelLoadError('the engine was closed while its model was loading'));
    const request: EngineRequest = { type: 'shutdown' };
    this.#worker.postMessage(request);
    await this.exited;
  }

  #receive(reply: EngineReply): void {
    switch (reply.type) {
      case 'log':
        this.#log(reply.line);
        return;
      case 'loaded':
        this.#loading.resolve(reply.info);
        return;
      case 'load-failed':
        this.#loading.reject(
          reply.fault === 'model'
            ? new ModelLoadError(reply.message)
            : new ExecutionProviderError(reply.message),
        );
        return;
      case 'done':
        this.#pending.shift()?.resolve(reply.text);
        return;
      case 'failed':
        this.#pending.shift()?.reject(new InferenceError(reply.message));
        return;
      default:
        reply satisfies never;
    }
  }

  #failPending(): void {
    this.#failure ??= new Error('its thread was closed');
    this.#loading.reject(
      new ModelLoadError(`the engine's thread ended while loading: ${this.#failure.message}`),
    );
    for (const answer of this.#pending.splice(0))
      answer.reject(new InferenceError(`the engine has ended: ${this.#failure.message}`));
  }
}

/** One recording on the thread. */
export class ThreadStream implements RecognizerStream {
  readonly #thread: EngineThread;
  readonly #onClosed: () => void;
  #closing: Promise<void> | undefined;

  /** @param onClosed called once, when no model call of this recording is running any more. */
  constructor(thread: EngineThread, onClosed: () => void) {
    this.#thread = thread;
    this.#onClosed = onClosed;
  }

  accept(pcm: Uint8Array): Promise<string> {
    return this.#send('accept', pcm);
  }

  finish(pcm: Uint8Array): Promise<string> {
    return this.#send('finish', pcm);
  }

  close(): Promise<void> {
    this.#closing ??= this.#thread
      .call({ type: 'close' })
      // A thread that has ended runs nothing.
      .catch(() => undefined)
      .then(this.#onClosed);
    return this.#closing;
  }

  async #send(type: 'accept' | 'finish', pcm: Uint8Array): Promise<string> {
    if (this.#closing !== undefined) throw new InferenceError('the recording is closed');
    if (pcm.byteLength % BYTES_PER_SAMPLE !== 0) {
      throw new RangeError(`${type}() got ${pcm.byteLength} bytes: expected whole samples`);
    }
    // A copy of exactly these bytes is handed over: the caller's buffer may be a view into a shared pool.
    return this.#thread.call({ type, pcm: new Uint8Array(pcm) });
  }
}
