import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { ModelLoadError } from '../../recognizer.ts';
import { errorText } from '../text/error-text.ts';
import { type ByteSpan, FileFields, type ProtobufField } from './file-fields.ts';
import { type GraphNode, type GraphValue, graphValueOf, nodeOf } from './graph-messages.ts';
import { ModelMetadata } from './model-metadata.ts';
import { elementBytes, ONNX } from './onnx-fields.ts';
import { ProtobufMessage } from './protobuf-message.ts';

/** How a file begins that Git LFS has left on its server (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md). */
const LFS_POINTER = 'version https://git-lfs.github.com/spec/';
/** Of inputs or outputs. The largest models have a few hundred states. */
const MAX_VALUES = 10_000;
/** What an ONNX file says about itself, without its nodes and weights. */
export interface OnnxOutline {
  readonly path: string;
  readonly fileName: string;
  readonly metadata: ModelMetadata;
  /** Without the weights that old exporters (IR version 3) list among them: those have their values. */
  readonly inputs: readonly GraphValue[];
  readonly outputs: readonly GraphValue[];
}

export interface GraphWeight {
  /** Its field in the file. */
  readonly span: ByteSpan;
  /** About how many values it has. */
  readonly valueCount: number;
}

/** Where in an ONNX file the pieces of its graph are. */
export interface GraphFile {
  /** In an order in which they can run (onnx.proto asks for it). */
  readonly nodes: readonly GraphNode[];
  readonly weights: ReadonlyMap<string, GraphWeight>;
  /** Fields by the names of the values that they declare. */
  readonly inputs: ReadonlyMap<string, ByteSpan>;
  /** The model's fields, except its graph and its IR version. */
  readonly model: readonly ByteSpan[];
  /** https://github.com/onnx/onnx/blob/main/docs/Versioning.md */
  readonly irVersion: number;
}

/**
 * Reads the outline, and of all else in the file only the headers. There are two reasons: onnxruntime-node does not hand
 * out `metadata_props`, and a damaged or wrong file is found before anything large is loaded.
 * @throws ModelLoadError when the file is missing, no ONNX model, or shorter than its parts say.
 */
export async function readOnnxOutline(path: string): Promise<OnnxOutline> {
  // Opening a pipe with nobody at its other end would wait for ever.
  const about = await stat(path).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  if (!about.isFile() && !about.isDirectory()) throw unreadable(path, 'not a regular file');
  const file = await open(path).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  try {
    const fields = new FileFields(file, basename(path), (await file.stat()).size);
    await refuseLfsPointer(fields, path);
    const reader = new OnnxReader(fields);
    await reader.walk();
    return reader.outline(path);
  } catch (cause) {
    if (cause instanceof ModelLoadError) throw cause;
    throw unreadable(path, cause);
  } finally {
    await file.close();
  }
}

/**
 * Reads the graph's nodes, too.
 * @returns undefined for a file with weights outside of it, or in a form that has no use here.
 * @throws ModelLoadError, Error when it is no ONNX model
 */
export async function readGraphFile(file: FileHandle, fileName: string): Promise<GraphFile | undefined> {
  const reader = new OnnxReader(new FileFields(file, fileName, (await file.stat()).size));
  await reader.walk();
  return reader.graph();
}

function unreadable(path: string, cause: unknown): ModelLoadError {
  return new ModelLoadError(`${path}: cannot be read (${errorText(cause)}), expected an ONNX model`);
}

async function refuseLfsPointer(fields: FileFields, path: string): Promise<void> {
  const start = await fields.read({ start: 0, end: LFS_POINTER.length }, 'first line');
  if (Buffer.from(start).toString('latin1') !== LFS_POINTER) return;
  throw new ModelLoadError(
    `${path}: found the pointer that Git LFS puts in a model's place, expected the model: run git lfs pull in its folder`,
  );
}

class OnnxReader {
  readonly #fields: FileFields;
  readonly #metadata = new Map<string, string>();
  readonly #inputs: GraphValue[] = [];
  readonly #inputFields = new Map<string, ByteSpan>();
  readonly #outputs: GraphValue[] = [];
  readonly #weights = new Map<string, GraphWeight>();
  readonly #nodes: ProtobufField[] = [];
  readonly #model: ByteSpan[] = [];
  #irVersion = 0;
  #hasGraph = false;
  #isPlain = true;

  constructor(fields: FileFields) {
    this.#fields = fields;
  }

  /** Once over the whole file: nodes and weights are found, and not read. */
  async walk(): Promise<void> {
    for await (const field of this.#fields.within({ start: 0, end: this.#fields.sizeBytes })) {
      if (field.number === ONNX.model.graph) await this.#walkGraph(field.body);
      else if (field.number === ONNX.model.irVersion) this.#irVersion = await this.#number(field);
      else this.#model.push(field.span);
      if (field.number !== ONNX.model.metadata) continue;
      const { key, value } = ONNX.metadata;
      const entry = await this.#message(field.body, 'metadata entry');
      this.#metadata.set(entry.string(key), entry.string(value));
    }
  }

  /** @throws ModelLoadError when the file has no graph */
  outline(path: string): OnnxOutline {
    const { fileName, sizeBytes } = this.#fields;
    if (!this.#hasGraph)
      throw new ModelLoadError(
        `${fileName}: found ${sizeBytes} bytes without a graph, expected an ONNX model`,
      );
    const metadata = new ModelMetadata(fileName, this.#metadata);
    const inputs = this.#inputs.filter(({ name }) => !this.#weights.has(name));
    return { path, fileName, metadata, inputs, outputs: this.#outputs };
  }

  async graph(): Promise<GraphFile | undefined> {
    if (!this.#isPlain) return undefined;
    const nodes: GraphNode[] = [];
    for (const { span, body } of this.#nodes)
      nodes.push({ span, ...nodeOf(await this.#message(body, 'node')) });
    const [weights, inputs, model] = [this.#weights, this.#inputFields, this.#model];
    return { nodes, weights, inputs, model, irVersion: this.#irVersion };
  }

  async #walkGraph(graph: ByteSpan): Promise<void> {
    this.#hasGraph = true;
    for await (const field of this.#fields.within(graph)) {
      switch (field.number) {
        case ONNX.graph.node:
          this.#nodes.push(field);
          break;
        case ONNX.graph.initializer:
          await this.#walkWeight(field);
          break;
        case ONNX.graph.input: {
          const value = await this.#value(field, this.#inputs.length);
          this.#inputs.push(value);
          this.#inputFields.set(value.name, field.span);
          break;
        }
        case ONNX.graph.output:
          this.#outputs.push(await this.#value(field, this.#outputs.length));
          break;
        case ONNX.graph.sparseInitializer:
          this.#isPlain = false;
          break;
      }
    }
  }

  async #walkWeight({ span, body }: ProtobufField): Promise<void> {
    let name = '';
    let valueBytes = elementBytes(0);
    for await (const field of this.#fields.within(body)) {
      const { number } = field;
      if (number === ONNX.tensor.dataType) valueBytes = elementBytes(await this.#number(field));
      else if (number === ONNX.tensor.name)
        name = Buffer.from(await this.#fields.read(field.body, 'name')).toString();
      else if (number === ONNX.tensor.externalData) this.#isPlain = false;
    }
    this.#weights.set(name, { span, valueCount: (body.end - body.start) / valueBytes });
  }

  async #number({ number, span }: ProtobufField): Promise<number> {
    return (await this.#message(span, 'number')).number(number) ?? 0;
  }

  /** @param before inputs, or outputs. */
  async #value({ body }: ProtobufField, before: number): Promise<GraphValue> {
    if (before === MAX_VALUES)
      throw new ModelLoadError(
        `${this.#fields.fileName}: found over ${MAX_VALUES} inputs or outputs, expected some hundred at most`,
      );
    return graphValueOf(await this.#message(body, 'input or output'));
  }

  /** @throws ModelLoadError when it is no message. */
  async #message(span: ByteSpan, what: string): Promise<ProtobufMessage> {
    const bytes = await this.#fields.read(span, what);
    try {
      return new ProtobufMessage(bytes);
    } catch (cause) {
      throw new ModelLoadError(
        `${this.#fields.fileName}: found a damaged ${what} (${errorText(cause)}), expected an ONNX model`,
      );
    }
  }
}
