/** FunASR's `tail_threshold`: the weight of one more row behind the last. */
const TAIL_WEIGHT = 0.45;

/**
 * Puts the rows of an encoder together to the embeddings of tokens: each row has a weight, and a token is there
 * whenever the weights add up to 1 (Dong and Xu, "CIF: Continuous Integrate-and-Fire for End-to-End Speech
 * Recognition", 2020). What is left over carries to the next rows. In float32, as sherpa-onnx and FunASR do it.
 */
export class ContinuousIntegrateAndFire {
  #sum = 0;
  /** The weighted sum of the rows that are in no token yet. */
  #hidden: Float32Array;

  constructor(size: number) {
    this.#hidden = new Float32Array(size);
  }

  /**
   * @param rows (rows, size) row by row.
   * @param weights one a row, below 1: so a row ends one token at most.
   * @returns the embeddings of the tokens that end in these rows.
   */
  accept(rows: Float32Array, weights: Float32Array): Float32Array[] {
    const fired: Float32Array[] = [];
    for (const [i, weight] of weights.entries()) {
      const row = rows.subarray(i * this.#hidden.length, (i + 1) * this.#hidden.length);
      const sum = Math.fround(this.#sum + weight);
      if (sum < 1) {
        this.#sum = sum;
        add(this.#hidden, row, weight);
        continue;
      }
      add(this.#hidden, row, Math.fround(1 - this.#sum));
      fired.push(this.#hidden);
      this.#sum = Math.fround(this.#sum + Math.fround(weight - 1));
      this.#hidden = row.map((value) => value * this.#sum);
    }
    return fired;
  }

  /** @returns the embedding of the token that has begun and, with a tail, ends; the last one of a recording. */
  flush(): Float32Array | undefined {
    return Math.fround(this.#sum + Math.fround(TAIL_WEIGHT)) < 1 ? undefined : this.#hidden;
  }
}

function add(to: Float32Array, row: Float32Array, weight: number): void {
  for (const [i, value] of row.entries()) to[i] = (to[i] ?? 0) + Math.fround(value * weight);
}
