import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { ModelLoadError } from '../recognizer.ts';
import { errorText } from './error-text.ts';
import { FileFields } from './file-fields.ts';
import { ModelMetadata } from './model-metadata.ts';

/** Field numbers of onnx.proto. */
const MODEL = { graph: 7, opsetImport: 8, metadataProps: 14 } as const;
const GRAPH = { input: 11, output: 12 } as const;

/** Bytes from `start` up to `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** An input or output of the graph. */
export interface GraphValue {
  readonly name: string;
  readonly type: 'float32' | 'int64' | 'other';
  /** Symbolic dimensions are names; '?' when the file does not say. */
  readonly shape: readonly (number | string)[];
  /** Where its field stands in the file, tag included. */
  readonly span: ByteSpan;
}

/** What an ONNX file says about itself, without its nodes and weights. */
export interface OnnxOutline {
  readonly path: string;
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly metadata: ModelMetadata;
  /** Version of the standard operators. */
  readonly opset: number;
  /** The graph's field, tag included, and the part of it behind tag and length. */
  readonly graphField: ByteSpan;
  readonly graphBody: ByteSpan;
  readonly inputs: readonly GraphValue[];
  readonly outputs: readonly GraphValue[];
}

/**
 * Reads the outline, and of the file only the headers of what is skipped: `metadata_props` is not handed out by
 * onnxruntime-node, and a damaged or wrong file is told before anything large is loaded.
 * @throws ModelLoadError when the file is missing, no ONNX model, or shorter than its parts say.
 */
export async function readOnnxOutline(path: string): Promise<OnnxOutline> {
  const fileName = basename(path);
  const file = await open(path).catch((cause: unknown) => {
    throw new ModelLoadError(`${path}: cannot be read (${errorText(cause)}), expected an ONNX model`);
  });
  try {
    const { size } = await file.stat();
    return await walkModel(new FileFields(file, fileName, size), path, fileName);
  } finally {
    await file.close();
  }
}

async function walkModel(fields: FileFields, path: string, fileName: string): Promise<OnnxOutline> {
  const entries = new Map<string, string>();
  let opset = 0;
  let graph: Pick<OnnxOutline, 'graphField' | 'graphBody' | 'inputs' | 'outputs'> | undefined;
  for await (const field of fields.within({ start: 0, end: fields.sizeBytes })) {
    switch (field.number) {
      case MODEL.graph:
        graph = { graphField: field.span, graphBody: field.body, ...(await walkGraph(fields, field.body)) };
        break;
      case MODEL.opsetImport:
        opset = Math.max(opset, readOpset(await fields.read(field.body, 'opset')));
        break;
      case MODEL.metadataProps: {
        const [key, value] = readStringEntry(await fields.read(field.body, 'metadata entry'), fileName);
        entries.set(key, value);
        break;
      }
    }
  }
  if (graph === undefined) {
    throw new ModelLoadError(
      `${fileName}: found ${fields.sizeBytes} bytes without a graph, expected an ONNX model`,
    );
  }
  const metadata = new ModelMetadata(fileName, entries);
  return { path, fileName, sizeBytes: fields.sizeBytes, metadata, opset, ...graph };
}

async function walkGraph(
  fields: FileFields,
  body: ByteSpan,
): Promise<Pick<OnnxOutline, 'inputs' | 'outputs'>> {
  const inputs: GraphValue[] = [];
  const outputs: GraphValue[] = [];
  for await (const field of fields.within(body)) {
    const values =
      field.number === GRAPH.input ? inputs : field.number === GRAPH.output ? outputs : undefined;
    if (values === undefined) continue;
    values.push({ ...readValueInfo(await fields.read(field.body, 'input or output')), span: field.span });
  }
  return { inputs, outputs };
}

/** OperatorSetIdProto: domain 1, version 2. Other domains than the standard one count as 0. */
function readOpset(bytes: Uint8Array): number {
  let domain = '';
  let version = 0;
  visit(bytes, (number, reader, wireType) => {
    if (number === 1) domain = reader.string();
    else if (number === 2) version = Number(reader.int64());
    else reader.skip(wireType);
  });
  return domain === '' || domain === 'ai.onnx' ? version : 0;
}

/** StringStringEntryProto: key 1, value 2. */
function readStringEntry(bytes: Uint8Array, fileName: string): [key: string, value: string] {
  let key = '';
  let value = '';
  try {
    visit(bytes, (number, reader, wireType) => {
      if (number === 1) key = reader.string();
      else if (number === 2) value = reader.string();
      else reader.skip(wireType);
    });
  } catch (cause) {
    throw new ModelLoadError(
      `${fileName}: found a damaged metadata entry (${errorText(cause)}), expected key and value`,
    );
  }
  return [key, value];
}

/** ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1 | dim_param 2 } } } }. */
function readValueInfo(bytes: Uint8Array): Omit<GraphValue, 'span'> {
  let name = '';
  let type: GraphValue['type'] = 'other';
  const shape: (number | string)[] = [];
  const readDimension = (dimension: Uint8Array): void => {
    let size: number | string = '?';
    visit(dimension, (number, reader, wireType) => {
      if (number === 1) size = Number(reader.int64());
      else if (number === 2) size = reader.string();
      else reader.skip(wireType);
    });
    shape.push(size);
  };
  visit(bytes, (number, reader, wireType) => {
    if (number === 1) name = reader.string();
    else if (number !== 2) reader.skip(wireType);
    else {
      visitChild(reader.bytes(), 1, (tensor) => {
        visit(tensor, (field, inner, innerType) => {
          if (field === 1) type = elementType(inner.int32());
          else if (field === 2) visitChild(inner.bytes(), 1, readDimension);
          else inner.skip(innerType);
        });
      });
    }
  });
  return { name, type, shape };
}

/** TensorProto.DataType */
function elementType(id: number): GraphValue['type'] {
  return id === 1 ? 'float32' : id === 7 ? 'int64' : 'other';
}

function visit(
  bytes: Uint8Array,
  onField: (number: number, reader: BinaryReader, wireType: WireType) => void,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    onField(number, reader, wireType);
  }
}

/** Hands every message with this field number over. */
function visitChild(bytes: Uint8Array, wanted: number, onMessage: (bytes: Uint8Array) => void): void {
  visit(bytes, (number, reader, wireType) => {
    if (number === wanted && wireType === WireType.LengthDelimited) onMessage(reader.bytes());
    else reader.skip(wireType);
  });
}
