import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { env, InferenceSession, type Tensor } from 'onnxruntime-node';
import type { ExecutionProvider, ExecutionProviders } from '../../../common/config/config.ts';
import { quoted } from '../../../common/errors/printable.ts';
import { ExecutionProviderError, InferenceError, ModelLoadError } from '../../recognizer.ts';
import { errorText } from '../text/error-text.ts';

type ProviderList = Exclude<ExecutionProviders, 'auto'>;

export interface SessionOptions {
  readonly providers: ExecutionProviders;
  /** Threads of one operator. */
  readonly threads: number;
  /** Values of weights in a part, where a graph is divided. */
  readonly partValues?: number;
  /**
   * True for a model that runs once: to make it faster would take longer than that run. What follows from
   * constants is found out all the same.
   */
  readonly isForOneRun?: boolean;
  /** True for a part of a graph. A dozen arenas, one a part, held 15 to 40 MB that one did not need. */
  readonly isPart?: boolean;
  /** Receives one line when `auto` falls back, and when a graph cannot be divided. */
  readonly log: (line: string) => void;
}

/** A loaded ONNX file, its tensors' names and shapes, and the provider that took it. */
export class OnnxModel {
  readonly fileName: string;
  readonly provider: ExecutionProvider;
  readonly #session: InferenceSession;

  constructor(fileName: string, provider: ExecutionProvider, session: InferenceSession) {
    this.fileName = fileName;
    this.provider = provider;
    this.#session = session;
  }

  get outputNames(): readonly string[] {
    return this.#session.outputNames;
  }

  /** Whether the graph alone does not say what sizes its outputs have. */
  get hasOpenSizes(): boolean {
    return this.#session.outputMetadata.some(
      (output) => !output.isTensor || output.shape.some((size) => typeof size === 'string'),
    );
  }

  /**
   * Last dimension of output 0; undefined if only a run shows it.
   * @throws ModelLoadError if no search can step by it.
   */
  lastOutputDimension(): number | undefined {
    const output = this.#session.outputMetadata[0];
    const last = output?.isTensor === true ? output.shape.at(-1) : undefined;
    if (output === undefined || typeof last !== 'number') return undefined;
    if (last >= 1) return last;
    throw new ModelLoadError(
      `${this.fileName}: output ${quoted(output.name)} has last dimension ${last}, expected at least 1`,
    );
  }

  /** Of how many tokens output 0 has scores. @throws ModelLoadError if only a run shows it. */
  scoredTokens(): number {
    const count = this.lastOutputDimension();
    if (count !== undefined) return count;
    throw new ModelLoadError(
      `${this.fileName}: the last dimension of output ${quoted(this.outputNames[0] ?? '')} is open, expected the number of tokens`,
    );
  }

  /** @throws InferenceError with the runtime's message. */
  async run(feeds: Record<string, Tensor>): Promise<InferenceSession.ReturnType> {
    try {
      return await this.#session.run(feeds);
    } catch (cause) {
      throw new InferenceError(`${this.fileName}: ${errorText(cause)}`, { cause });
    }
  }

  async release(): Promise<void> {
    await this.#session.release();
  }
}

/** Where a model comes from: its file, or its bytes in memory. */
export type ModelSource = string | { readonly fileName: string; readonly bytes: Uint8Array };

/** @throws ModelLoadError with what the runtime says; ExecutionProviderError. */
export async function loadOnnxModel(source: ModelSource, options: SessionOptions): Promise<OnnxModel> {
  const create = (...providers: ProviderList): Promise<OnnxModel> => createModel(source, providers, options);
  if (options.providers !== 'auto') return createNamed(options.providers, create);
  if (!cudaLibraryExists()) return create('cpu');
  try {
    return await create('cuda');
  } catch (cause) {
    options.log(`execution provider cuda does not load (${errorText(cause)}): using cpu`);
    return create('cpu');
  }
}

/** Whether no other execution provider can take a model. */
export function usesOnlyCpu({ providers }: SessionOptions): boolean {
  return providers === 'auto' ? !cudaLibraryExists() : providers.every((provider) => provider === 'cpu');
}

/** @throws ExecutionProviderError when the same model loads on the CPU: then it is not the model's fault. */
async function createNamed(
  providers: ProviderList,
  create: (...providers: ProviderList) => Promise<OnnxModel>,
): Promise<OnnxModel> {
  try {
    return await create(...providers);
  } catch (cause) {
    if (providers.every((provider) => provider === 'cpu')) throw cause;
    await (await create('cpu')).release();
    const reason = cause instanceof Error ? (cause.cause ?? cause) : cause;
    const missing = providers.includes('cuda')
      ? 'run npm run gpu:install (NVIDIA’s driver must be 580 or newer)'
      : 'install the driver that it needs';
    throw new ExecutionProviderError(
      `ASR_EXECUTION_PROVIDERS="${providers.join(',')}": ${providers.filter((name) => name !== 'cpu').join(', ')} does not load on this machine (${errorText(reason)}); ${missing}, or write auto or cpu`,
      { cause },
    );
  }
}

/** Asked before `auto` tries CUDA: onnxruntime prints an error of its own when the library is not installed. */
function cudaLibraryExists(): boolean {
  const packageDir = dirname(dirname(createRequire(import.meta.url).resolve('onnxruntime-node')));
  const libraries = join(packageDir, 'bin', 'napi-v6', process.platform, process.arch);
  return existsSync(join(libraries, 'libonnxruntime_providers_cuda.so'));
}

async function createModel(
  source: ModelSource,
  providers: ProviderList,
  { threads, isForOneRun = false, isPart = false }: SessionOptions,
): Promise<OnnxModel> {
  const fileName = typeof source === 'string' ? basename(source) : source.fileName;
  // What goes wrong is thrown; the runtime's own lines on stderr would not be part of the log.
  env.logLevel = 'fatal';
  try {
    const options: InferenceSession.SessionOptions = {
      executionProviders: providers,
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      graphOptimizationLevel: isForOneRun ? 'basic' : 'all',
      enableCpuMemArena: !isPart,
      logSeverityLevel: 4,
      extra: {
        // If idle threads sleep at once, that costs more than a second thread gains. If they spin for ever,
        // they keep API and Redis from their cores.
        session: { intra_op: { allow_spinning: '1', spin_duration_us: '200' }, force_spinning_stop: '1' },
      },
    };
    const session = await (typeof source === 'string'
      ? InferenceSession.create(source, options)
      : InferenceSession.create(source.bytes, options));
    return new OnnxModel(fileName, providers[0], session);
  } catch (cause) {
    throw new ModelLoadError(
      `${fileName}: onnxruntime with ${providers.join(', ')} says "${errorText(cause)}", expected a model that loads`,
      { cause },
    );
  }
}
