import type { ModelFiles } from '../onnx/model-files.ts';
import type { OnnxOutline } from '../onnx/onnx-reader.ts';
import type { EngineModel } from '../recording/engine-model.ts';
import type { TokenTable } from '../text/tokens.ts';
import type { GraphLoader } from './graph-loader.ts';

/** A model folder's files, as far as they can be read without loading a graph. */
export type ModelFolder = ModelFiles<OnnxOutline, TokenTable>;
type FolderOf<Kind> = Extract<ModelFolder, { readonly kind: Kind }>;
export type SingleFolder = FolderOf<'single'>;
export type EncoderDecoderFolder = FolderOf<'encoder-decoder'>;
export type TransducerFolder = FolderOf<'transducer'>;

/** A family of models: whether a folder is one of its own, and how it is loaded. */
export interface Family<Folder extends ModelFolder = ModelFolder> {
  /** As `ModelInfo.family` and docs/models.md have it. */
  readonly name: string;
  /** As `ModelInfo` has it. */
  readonly isReDecoding: boolean;
  /** Only folders of this kind are asked about, and loaded. */
  readonly kind: Folder['kind'];

  matches(folder: Folder): boolean;

  /** @throws ModelLoadError when graphs, metadata and tokens do not fit together; ExecutionProviderError. */
  load(folder: Folder, graphs: GraphLoader): Promise<EngineModel>;
}
