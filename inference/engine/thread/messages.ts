import type { ExecutionProviders } from '../../../common/config/config.ts';
import type { LocatedModel } from '../../../models/store/locate.ts';
import type { ModelInfo } from '../../recognizer.ts';
import type { Hotword } from '../postprocessing/hotword-list.ts';

/** What the worker thread is started with. */
export interface EngineOptions {
  readonly model: LocatedModel;
  readonly providers: ExecutionProviders;
  /** Threads of one operator. */
  readonly threads: number;
  /** Whether a language model corrects the texts of a model that can judge them. */
  readonly languageModel: boolean;
}

/** Main thread → worker. Each request but the last is answered by one `done` or `failed`, in their order. */
export type EngineRequest =
  | { readonly type: 'open' }
  /** For the recordings that are opened from now on. */
  | { readonly type: 'hotwords'; readonly hotwords: readonly Hotword[] }
  /** `pcm` is transferred. */
  | { readonly type: 'accept' | 'finish'; readonly pcm: Uint8Array<ArrayBuffer> }
  /** Stops the running request between two model runs; answered after that request. */
  | { readonly type: 'close' }
  /** Ends the thread once nothing runs; answered by its exit. */
  | { readonly type: 'shutdown' };

/** Worker → main thread. */
export type EngineReply =
  | { readonly type: 'log'; readonly line: string }
  | { readonly type: 'loaded'; readonly info: Omit<ModelInfo, 'loadMs'> }
  | { readonly type: 'load-failed'; readonly message: string; readonly fault: 'model' | 'execution-provider' }
  | { readonly type: 'done'; readonly text: string }
  | { readonly type: 'failed'; readonly message: string };
