import { join, resolve } from 'node:path';
import { findEntry } from '../../models/catalogue.ts';
import { locateModel } from '../../models/store/locate.ts';
import { modelFolders } from '../../models/store/store.ts';
import { OnnxRecognizer, type OnnxRecognizerOptions } from '../engine/thread/engine.ts';
import { InferenceError, type ModelInfo, type Recognizer, type RecognizerStream } from '../recognizer.ts';
import { folderFingerprint } from './folder-change.ts';

export type ConfiguredRecognizerOptions = Omit<OnnxRecognizerOptions, 'modelDir' | 'modelId'>;

/** The recognizer of the model that `ASR_MODEL` names. Every attempt to load it looks for the model anew. */
export class ConfiguredRecognizer implements Recognizer {
  readonly #setting: string;
  readonly #options: ConfiguredRecognizerOptions;
  #recognizer: Recognizer | undefined;
  #begun: { readonly files: Promise<string>; readonly model: Promise<ModelInfo> } | undefined;

  /** @param setting value of `ASR_MODEL` */
  constructor(setting: string, options: ConfiguredRecognizerOptions) {
    this.#setting = setting;
    this.#options = options;
  }

  /** Where the model's files are, or should be. */
  get folder(): string {
    const folders = modelFolders();
    if (this.#setting === 'bundled') return folders.bundled;
    const entry = findEntry(this.#setting);
    return entry === undefined ? resolve(this.#setting) : join(folders.downloaded, entry.id);
  }

  /** Begins to load ahead of the first `load()`, which then waits for this. */
  begin(): void {
    const files = folderFingerprint(this.folder);
    const model = files.then(() => this.#load());
    model.catch(() => undefined);
    this.#begun = { files, model };
  }

  /** @throws ModelFailure when there is no such model, and what the engine's `load()` throws. */
  async load(): Promise<ModelInfo> {
    const begun = this.#begun;
    this.#begun = undefined;
    if (begun === undefined) return this.#load();
    try {
      return await begun.model;
    } catch (error) {
      // The caller waits for changes from now on. If a copy ended before, it would wait in vain: so the model
      // is loaded again at once.
      if ((await folderFingerprint(this.folder)) === (await begun.files)) throw error;
      return this.#load();
    }
  }

  async #load(): Promise<ModelInfo> {
    const { id, folder } = await locateModel(this.#setting);
    // If the process is killed for want of memory, or a broken graph ends it, no other line names the model.
    this.#options.log?.(`loading the model ${id} in ${folder}`);
    this.#recognizer = new OnnxRecognizer({ ...this.#options, modelDir: folder, modelId: id });
    return this.#recognizer.load();
  }

  async open(): Promise<RecognizerStream> {
    if (this.#recognizer === undefined) throw new InferenceError('no model is loaded');
    return this.#recognizer.open();
  }

  async close(): Promise<void> {
    await this.#recognizer?.close();
  }
}
