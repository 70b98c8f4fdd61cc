import type { FileHandle } from 'node:fs/promises';
import { type ByteSpan, FileFields } from './file-fields.ts';
import { visit, visitChildren } from './protobuf-message.ts';

/** Field numbers of onnx.proto. */
const MODEL = { irVersion: 1, graph: 7 } as const;
const GRAPH = { node: 1, initializer: 5, input: 11, output: 12, sparseInitializer: 15 } as const;
const NODE = { input: 1, output: 2, operator: 4, attribute: 5 } as const;
const ATTRIBUTE = { graph: 6, graphs: 11 } as const;
const TENSOR = { dataType: 2, name: 8, externalData: 13 } as const;
const VALUE_INFO = { name: 1 } as const;

export interface GraphNode {
  /** Its field in the file. */
  readonly span: ByteSpan;
  /** Its kind, such as `MatMul`. */
  readonly operator: string;
  /** Values that it reads, those of the graphs inside it included. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
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

/** @returns undefined for a file with weights outside of it, or in a form that has no use here. */
export async function readGraphFile(file: FileHandle, fileName: string): Promise<GraphFile | undefined> {
  return new GraphReader(new FileFields(file, fileName, (await file.stat()).size)).read();
}

class GraphReader {
  readonly #fields: FileFields;
  readonly #nodes: GraphNode[] = [];
  readonly #weights = new Map<string, GraphWeight>();
  readonly #inputs = new Map<string, ByteSpan>();
  #isPlain = true;

  constructor(fields: FileFields) {
    this.#fields = fields;
  }

  async read(): Promise<GraphFile | undefined> {
    const model: ByteSpan[] = [];
    let irVersion = 0;
    for await (const { number, span, body } of this.#fields.within({
      start: 0,
      end: this.#fields.sizeBytes,
    })) {
      if (number === MODEL.graph) await this.#readGraph(body);
      else if (number === MODEL.irVersion) irVersion = readInt(await this.#fields.read(span, 'IR version'));
      else model.push(span);
    }
    if (!this.#isPlain) return undefined;
    return {
      nodes: this.#nodes,
      weights: this.#weights,
      inputs: this.#inputs,
      model,
      irVersion,
    };
  }

  async #readGraph(graph: ByteSpan): Promise<void> {
    for await (const { number, span, body } of this.#fields.within(graph)) {
      switch (number) {
        case GRAPH.node:
          this.#nodes.push({ span, ...readNode(await this.#fields.read(body, 'node')) });
          break;
        case GRAPH.initializer:
          await this.#readWeight(span, body);
          break;
        case GRAPH.input:
          this.#inputs.set(readName(await this.#fields.read(body, 'input')), span);
          break;
        case GRAPH.sparseInitializer:
          this.#isPlain = false;
          break;
      }
    }
  }

  async #readWeight(span: ByteSpan, tensor: ByteSpan): Promise<void> {
    let name = '';
    let valueBytes = 4;
    for await (const field of this.#fields.within(tensor)) {
      switch (field.number) {
        case TENSOR.dataType:
          valueBytes = elementBytes(await this.#fields.read(field.span, 'element type'));
          break;
        case TENSOR.name:
          name = Buffer.from(await this.#fields.read(field.body, 'name')).toString();
          break;
        case TENSOR.externalData:
          this.#isPlain = false;
          break;
      }
    }
    this.#weights.set(name, { span, valueCount: (tensor.end - tensor.start) / valueBytes });
  }
}

/**
 * Bytes of one value, by TensorProto.DataType. 2 and 3 have 8 bits; 4, 5, 10 and 16 have 16 bits. 1 is float,
 * and the others are about as large.
 */
function elementBytes(dataType: Uint8Array): number {
  const id = readInt(dataType);
  if (id === 2 || id === 3) return 1;
  return id === 4 || id === 5 || id === 10 || id === 16 ? 2 : 4;
}

/** @param field the whole of it, a varint's. */
function readInt(field: Uint8Array): number {
  let value = 0;
  visit(field, (_, reader) => {
    value = Number(reader.int64());
  });
  return value;
}

function readName(valueInfo: Uint8Array): string {
  let name = '';
  visit(valueInfo, (number, reader, wireType) => {
    if (number === VALUE_INFO.name) name = reader.string();
    else reader.skip(wireType);
  });
  return name;
}

function readNode(node: Uint8Array): Omit<GraphNode, 'span'> {
  let operator = '';
  const inputs: string[] = [];
  const outputs: string[] = [];
  visit(node, (number, reader, wireType) => {
    if (number === NODE.input) inputs.push(reader.string());
    else if (number === NODE.output) outputs.push(reader.string());
    else if (number === NODE.operator) operator = reader.string();
    else if (number === NODE.attribute) inputs.push(...inputsOfGraphs(reader.bytes()));
    else reader.skip(wireType);
  });
  // An optional input that is left out has an empty name.
  return { operator, inputs: inputs.filter(Boolean), outputs };
}

/** What the branches of an `If` and the body of a `Loop` read, their own values among it. */
function inputsOfGraphs(attribute: Uint8Array): string[] {
  const found: string[] = [];
  for (const field of [ATTRIBUTE.graph, ATTRIBUTE.graphs]) {
    visitChildren(attribute, field, (graph) => {
      visitChildren(graph, GRAPH.node, (node) => found.push(...readNode(node).inputs));
      visitChildren(graph, GRAPH.output, (output) => found.push(readName(output)));
    });
  }
  return found;
}
