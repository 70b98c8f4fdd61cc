import type { TokenDecoder } from '../../../../../inference/engine/search/token-decoder.ts';

/** Of each hypothesis all its tokens, those of the prompt included. */
type Hypotheses = readonly (readonly number[])[];

/** A decoder that gives the scores it is told to, and keeps what was asked of it. */
export class ScriptedDecoder implements TokenDecoder<Hypotheses> {
  readonly vocabularySize: number;
  readonly maxTokens: number;
  /** Rows of every run, in order. */
  readonly runs: Hypotheses[] = [];
  readonly #scores: (tokens: readonly number[]) => Readonly<Record<number, number>>;

  /** @param scores behind all tokens so far, by id; 0 for those that it does not name. */
  constructor(
    vocabularySize: number,
    scores: (tokens: readonly number[]) => Readonly<Record<number, number>>,
    maxTokens = 448,
  ) {
    this.vocabularySize = vocabularySize;
    this.maxTokens = maxTokens;
    this.#scores = scores;
  }

  start(): Hypotheses {
    return [[]];
  }

  async run(state: Hypotheses, rows: Hypotheses): Promise<{ scores: Float32Array; state: Hypotheses }> {
    if (rows.length !== state.length) throw new Error(`${rows.length} rows for ${state.length} hypotheses`);
    this.runs.push(rows);
    const length = rows[0]?.length ?? 0;
    const scores = new Float32Array(rows.length * length * this.vocabularySize);
    for (const [row, tokens] of rows.entries()) {
      for (let place = 0; place < length; place++) {
        const all = [...(state[row] ?? []), ...tokens.slice(0, place + 1)];
        if (all.length > this.maxTokens)
          throw new Error(`${all.length} tokens, the decoder has ${this.maxTokens}`);
        const start = (row * length + place) * this.vocabularySize;
        for (const [id, score] of Object.entries(this.#scores(all))) scores[start + Number(id)] = score;
      }
    }
    return { scores, state: state.map((tokens, row) => [...tokens, ...(rows[row] ?? [])]) };
  }

  select(state: Hypotheses, parents: readonly number[]): Hypotheses {
    return parents.map((parent) => state[parent] ?? []);
  }
}
