/** One triangular filter: `weights[i]` is for spectrum bin `firstBin + i`. */
export interface MelFilter {
  readonly firstBin: number;
  readonly weights: Float64Array;
}

/** The bins with a weight, from the first to the last, out of `bins`. */
export function triangle(bins: number, weight: (bin: number) => number): MelFilter {
  const weights = Array.from({ length: bins }, (_, bin) => weight(bin));
  const firstBin = weights.findIndex((value) => value > 0);
  const lastBin = weights.findLastIndex((value) => value > 0);
  return { firstBin, weights: Float64Array.from(weights.slice(firstBin, lastBin + 1)) };
}

/** @param out each band's energy. */
export function applyMelFilters(filters: readonly MelFilter[], power: Float64Array, out: Float32Array): void {
  for (let band = 0; band < filters.length; band++) {
    const filter = filters[band];
    if (filter === undefined) continue;
    let energy = 0;
    for (let i = 0; i < filter.weights.length; i++) {
      energy += (filter.weights[i] ?? 0) * (power[filter.firstBin + i] ?? 0);
    }
    out[band] = energy;
  }
}
