import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { env, InferenceSession, type Tensor } from 'onnxruntime-node';
import { ExecutionProviderError, InferenceError, ModelLoadError } from '../recognizer.ts';
import { errorText } from './model-metadata.ts';

/** What onnxruntime-node can be asked for here. Its own check is weak: an unknown name silently runs on the CPU. */
const PROVIDERS = ['cpu', 'cuda', 'webgpu'] as const;
export type ExecutionProvider = (typeof PROVIDERS)[number];

export interface SessionOptions {
  /** `auto` (CUDA where it loads, else the CPU), or the providers to use, all of which must load. */
  readonly providers: readonly string[];
  /** Threads of one operator. */
  readonly threads: number;
  /** Receives one line when `auto` falls back. */
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

  get inputNames(): readonly string[] {
    return this.#session.inputNames;
  }

  get outputNames(): readonly string[] {
    return this.#session.outputNames;
  }

  input(name: string): InferenceSession.ValueMetadata | undefined {
    return this.#session.inputMetadata.find((value) => value.name === name);
  }

  /** Last dimension of an output, which must be a fixed number. */
  lastOutputDimension(index: number): number {
    const output = this.#session.outputMetadata[index];
    const last = output?.isTensor === true ? output.shape.at(-1) : undefined;
    if (typeof last !== 'number') {
      throw new ModelLoadError(
        `${this.fileName}: output ${output?.name ?? index} has last dimension ${String(last)}, expected a number`,
      );
    }
    return last;
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

export async function loadOnnxModel(path: string, options: SessionOptions): Promise<OnnxModel> {
  const wanted = checkProviders(options.providers);
  if (wanted !== 'auto') return createNamed(path, wanted, options.threads);
  if (!cudaLibraryExists()) return createModel(path, ['cpu'], options.threads);
  try {
    return await createModel(path, ['cuda'], options.threads);
  } catch (cause) {
    options.log(`execution provider cuda does not load (${errorText(cause)}): using cpu`);
    return createModel(path, ['cpu'], options.threads);
  }
}

/** @throws ExecutionProviderError when the same file loads on the CPU: then it is not the model's fault. */
async function createNamed(
  path: string,
  providers: readonly [ExecutionProvider, ...ExecutionProvider[]],
  threads: number,
): Promise<OnnxModel> {
  try {
    return await createModel(path, providers, threads);
  } catch (cause) {
    if (providers.every((provider) => provider === 'cpu')) throw cause;
    await (await createModel(path, ['cpu'], threads)).release();
    const reason = cause instanceof Error ? (cause.cause ?? cause) : cause;
    throw new ExecutionProviderError(
      `execution providers "${providers.join(',')}" do not load on this machine (${errorText(reason)}); ask for cpu or auto, or install what they need`,
      { cause },
    );
  }
}

/** Asked before `auto` tries CUDA: onnxruntime prints an error of its own when the library is not installed. */
function cudaLibraryExists(): boolean {
  const library =
    process.platform === 'win32' ? 'onnxruntime_providers_cuda.dll' : 'libonnxruntime_providers_cuda.so';
  const packageDir = dirname(dirname(createRequire(import.meta.url).resolve('onnxruntime-node')));
  return existsSync(join(packageDir, 'bin', 'napi-v6', process.platform, process.arch, library));
}

async function createModel(
  path: string,
  providers: readonly [ExecutionProvider, ...ExecutionProvider[]],
  threads: number,
): Promise<OnnxModel> {
  const fileName = basename(path);
  // What goes wrong is thrown; the runtime's own lines on stderr would not be part of the log.
  env.logLevel = 'fatal';
  try {
    const session = await InferenceSession.create(path, {
      executionProviders: providers,
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      logSeverityLevel: 4,
    });
    return new OnnxModel(fileName, providers[0], session);
  } catch (cause) {
    throw new ModelLoadError(
      `${fileName}: onnxruntime with ${providers.join(', ')} says "${errorText(cause)}", expected a model that loads`,
      { cause },
    );
  }
}

function checkProviders(
  names: readonly string[],
): 'auto' | readonly [ExecutionProvider, ...ExecutionProvider[]] {
  if (names.length === 1 && names[0] === 'auto') return 'auto';
  const known = names.map((name) => {
    const provider = PROVIDERS.find((candidate) => candidate === name);
    if (provider === undefined) throw unknownProvider(names);
    return provider;
  });
  const [first, ...others] = known;
  if (first === undefined) throw unknownProvider(names);
  return [first, ...others];
}

function unknownProvider(names: readonly string[]): ModelLoadError {
  return new ModelLoadError(
    `execution providers: found ${JSON.stringify(names.join(','))}, expected auto or a list of ${PROVIDERS.join(', ')}`,
  );
}
