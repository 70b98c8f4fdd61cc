/**
 * The engine's thread: loads the model it was started with, then serves one recording at a time. Model runs
 * block this thread and no other. Requests are served in order; `close` and `shutdown` are also seen between
 * two model runs.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { ExecutionProviderError, ModelLoadError } from '../../recognizer.ts';
import type { LoadedModel } from '../families/load-model.ts';
import { type LanguageModel, loadLanguageModel } from '../postprocessing/language-model.ts';
import { Postprocessor } from '../postprocessing/postprocessor.ts';
import type { EngineModel, EngineRecording } from '../recording/engine-model.ts';
import { errorText } from '../text/error-text.ts';
import type { EngineOptions, EngineReply, EngineRequest } from './messages.ts';
import { runtimeFailure } from './runtime-failure.ts';

const WITHOUT_JUDGE =
  'this model cannot judge hot words: of the Chinese ones, those of three and more characters that sound the same are used, and scores are not';

class EngineWorker {
  readonly #port: MessagePort;
  readonly #model: EngineModel;
  readonly #release: () => Promise<void>;
  readonly #postprocessor: Postprocessor;
  #recording: EngineRecording | undefined;
  #abort = new AbortController();
  /** Ends when every request so far has been answered. */
  #last: Promise<void> = Promise.resolve();

  constructor(port: MessagePort, { model, release }: LoadedModel, languageModel: LanguageModel | undefined) {
    this.#port = port;
    this.#model = model;
    this.#release = release;
    this.#postprocessor = new Postprocessor(languageModel);
  }

  serve(): void {
    this.#port.on('message', (request: EngineRequest) => {
      if (request.type === 'close' || request.type === 'shutdown')
        this.#abort.abort(new Error('the recording was closed'));
      this.#last = this.#last.then(() => this.#answer(request));
    });
  }

  async #answer(request: EngineRequest): Promise<void> {
    if (request.type === 'shutdown') {
      await this.#release();
      this.#port.close();
      return;
    }
    try {
      reply(this.#port, { type: 'done', text: await this.#run(request) });
    } catch (cause) {
      reply(this.#port, { type: 'failed', message: errorText(cause) });
    }
  }

  async #run(request: Exclude<EngineRequest, { type: 'shutdown' }>): Promise<string> {
    switch (request.type) {
      case 'open':
        this.#abort = new AbortController();
        this.#recording = this.#model.open(this.#abort.signal);
        return '';
      case 'hotwords':
        await this.#postprocessor.use(request.hotwords);
        if (!this.#model.judges) reply(this.#port, { type: 'log', line: WITHOUT_JUDGE });
        return '';
      case 'accept':
        return this.#postprocessor.partial(await this.#open().accept(request.pcm));
      case 'finish': {
        const recording = this.#open();
        return this.#postprocessor.final(await recording.finish(request.pcm), recording.judge);
      }
      case 'close':
        this.#recording = undefined;
        return '';
      default:
        return request satisfies never;
    }
  }

  #open(): EngineRecording {
    if (this.#recording === undefined) throw new Error('no recording is open');
    return this.#recording;
  }
}

function reply(port: MessagePort, message: EngineReply): void {
  port.postMessage(message);
}

async function main(port: MessagePort, options: EngineOptions): Promise<void> {
  try {
    // Not with the other imports: onnxruntime comes with it, and on some machines it does not load.
    const { loadModel } = await import('../families/load-model.ts').catch((cause: unknown) => {
      throw runtimeFailure(cause);
    });
    const { providers, threads } = options;
    const log = (line: string): void => reply(port, { type: 'log', line });
    const loaded = await loadModel(options.model.folder, { providers, threads, log });
    const isAsked = options.languageModel && loaded.model.judges;
    new EngineWorker(port, loaded, isAsked ? await loadLanguageModel(log) : undefined).serve();
    reply(port, {
      type: 'loaded',
      info: {
        id: options.model.id,
        ...loaded.info,
        threads,
      },
    });
  } catch (cause) {
    const isProvider = cause instanceof ExecutionProviderError;
    const isKnown = isProvider || cause instanceof ModelLoadError;
    const message = isKnown ? cause.message : `${options.model.folder}: ${errorText(cause)}`;
    reply(port, { type: 'load-failed', message, fault: isProvider ? 'execution-provider' : 'model' });
    port.close();
  }
}

if (parentPort !== null) await main(parentPort, workerData as EngineOptions);
