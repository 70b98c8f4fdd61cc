import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { ModelLoadError } from '../../recognizer.ts';
import { errorText } from '../text/error-text.ts';
import { type ByteSpan, FileFields } from './file-fields.ts';
import { ModelMetadata } from './model-metadata.ts';
import { visit, visitChildren } from './protobuf-message.ts';

/** Field numbers of onnx.proto. */
const MODEL = { graph: 7, metadataProps: 14 } as const;
const GRAPH = { initializer: 5, input: 11, output: 12 } as const;
const TENSOR = { name: 8 } as const;

/** TensorProto.DataType, from 1, by onnxruntime's names. */
const ELEMENT_TYPES =
  'float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 complex128 bfloat16'.split(
    ' ',
  );
/** How a file begins that Git LFS has left on its server (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md). */
const LFS_POINTER = 'version https://git-lfs.github.com/spec/';

/** An input or output of the graph. */
interface GraphValue {
  readonly name: string;
  /** An ELEMENT_TYPES name, or what else the file says. */
  readonly type: string;
  /** Symbolic dimensions are names; '?' when the file does not say. */
  readonly shape: readonly (number | string)[];
}

/** What an ONNX file says about itself, without its nodes and weights. */
export interface OnnxOutline {
  readonly path: string;
  readonly fileName: string;
  readonly metadata: ModelMetadata;
  /** Without the weights that old exporters (IR version 3) list among them: those have their values. */
  readonly inputs: readonly GraphValue[];
  readonly outputs: readonly GraphValue[];
}

/**
 * Reads the outline, and of all else in the file only the headers. There are two reasons: onnxruntime-node does not hand
 * out `metadata_props`, and a damaged or wrong file is found before anything large is loaded.
 * @throws ModelLoadError when the file is missing, no ONNX model, or shorter than its parts say.
 */
export async function readOnnxOutline(path: string): Promise<OnnxOutline> {
  const fileName = basename(path);
  // Opening a pipe with nobody at its other end would wait for ever.
  const about = await stat(path).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  if (!about.isFile() && !about.isDirectory()) throw unreadable(path, 'not a regular file');
  const file = await open(path).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  try {
    const { size } = await file.stat();
    const fields = new FileFields(file, fileName, size);
    await refuseLfsPointer(fields, path);
    return await walkModel(fields, path, fileName);
  } catch (cause) {
    if (cause instanceof ModelLoadError) throw cause;
    throw unreadable(path, cause);
  } finally {
    await file.close();
  }
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

/** The largest models have a few hundred states. */
const MAX_VALUES = 10_000;

async function walkModel(fields: FileFields, path: string, fileName: string): Promise<OnnxOutline> {
  const entries = new Map<string, string>();
  let graph: Pick<OnnxOutline, 'inputs' | 'outputs'> | undefined;
  for await (const field of fields.within({ start: 0, end: fields.sizeBytes })) {
    switch (field.number) {
      case MODEL.graph:
        graph = await walkGraph(fields, field.body, fileName);
        break;
      case MODEL.metadataProps: {
        readStringEntry(await fields.read(field.body, 'metadata entry'), fileName, entries);
        break;
      }
    }
  }
  if (graph === undefined) {
    throw new ModelLoadError(
      `${fileName}: found ${fields.sizeBytes} bytes without a graph, expected an ONNX model`,
    );
  }
  return { path, fileName, metadata: new ModelMetadata(fileName, entries), ...graph };
}

async function walkGraph(
  fields: FileFields,
  body: ByteSpan,
  fileName: string,
): Promise<Pick<OnnxOutline, 'inputs' | 'outputs'>> {
  const inputs: GraphValue[] = [];
  const outputs: GraphValue[] = [];
  const weights = new Set<string>();
  for await (const field of fields.within(body)) {
    if (field.number === GRAPH.initializer) weights.add(await readTensorName(fields, field.body));
    const values =
      field.number === GRAPH.input ? inputs : field.number === GRAPH.output ? outputs : undefined;
    if (values === undefined) continue;
    if (values.length === MAX_VALUES)
      throw new ModelLoadError(
        `${fileName}: found over ${MAX_VALUES} inputs or outputs, expected some hundred at most`,
      );
    values.push(readValueInfo(await fields.read(field.body, 'input or output'), fileName));
  }
  return { inputs: inputs.filter(({ name }) => !weights.has(name)), outputs };
}

/** The name of a weight, whose values are skipped. */
async function readTensorName(fields: FileFields, body: ByteSpan): Promise<string> {
  for await (const field of fields.within(body))
    if (field.number === TENSOR.name) return Buffer.from(await fields.read(field.body, 'name')).toString();
  return '';
}

/** StringStringEntryProto: key 1, value 2. */
function readStringEntry(bytes: Uint8Array, fileName: string, entries: Map<string, string>): void {
  let key = '';
  let value = '';
  orDamaged(fileName, 'metadata entry', () => {
    visit(bytes, (number, reader, wireType) => {
      if (number === 1) key = reader.string();
      else if (number === 2) value = reader.string();
      else reader.skip(wireType);
    });
  });
  entries.set(key, value);
}

/** A dimension that the file does not name. */
export const OPEN_SIZE = '?';

/** Some exporters write −1 for a size that they leave open. */
function sizeOrOpen(size: number): number | string {
  return size < 0 ? OPEN_SIZE : size;
}

/** ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1 | dim_param 2 } } } }. */
function readValueInfo(bytes: Uint8Array, fileName: string): GraphValue {
  let name = '';
  let type = 'no tensor';
  const shape: (number | string)[] = [];
  const readDimension = (dimension: Uint8Array): void => {
    let size: number | string = OPEN_SIZE;
    visit(dimension, (number, reader, wireType) => {
      if (number === 1) size = sizeOrOpen(Number(reader.int64()));
      else if (number === 2) size = reader.string() || OPEN_SIZE;
      else reader.skip(wireType);
    });
    shape.push(size);
  };
  const readTensorType = (tensor: Uint8Array): void => {
    visit(tensor, (number, reader, wireType) => {
      if (number === 1) type = elementType(reader.int32());
      else if (number === 2) visitChildren(reader.bytes(), 1, readDimension);
      else reader.skip(wireType);
    });
  };
  orDamaged(fileName, 'input or output', () => {
    visit(bytes, (number, reader, wireType) => {
      if (number === 1) name = reader.string();
      else if (number === 2) visitChildren(reader.bytes(), 1, readTensorType);
      else reader.skip(wireType);
    });
  });
  return { name, type, shape };
}

function orDamaged(fileName: string, what: string, read: () => void): void {
  try {
    read();
  } catch (cause) {
    throw new ModelLoadError(
      `${fileName}: found a damaged ${what} (${errorText(cause)}), expected an ONNX model`,
    );
  }
}

/** TensorProto.DataType of a type by onnxruntime's name. For an unknown name it is 0, which is no type. */
export function elementTypeId(name: string): number {
  return ELEMENT_TYPES.indexOf(name) + 1;
}

function elementType(id: number): string {
  return ELEMENT_TYPES[id - 1] ?? `element type ${id}`;
}
