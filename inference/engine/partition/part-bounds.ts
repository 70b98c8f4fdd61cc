/** Every value that crosses from part to part costs a tensor object in each run. */
const MAX_CROSSING = 8;

/**
 * Where to cut a row of places.
 * @param weights of each place, how many values.
 * @param crossings how many values a cut in front of a place would have to hand over.
 * @param partValues about how many a part has, and at least half of it. Within that range, the cut is where the least crosses.
 * @returns places in front of which to cut, in their order.
 */
export function chooseBounds(
  weights: readonly number[],
  crossings: readonly number[],
  partValues: number,
): number[] {
  const bounds: number[] = [];
  let sum = 0;
  let best: { readonly place: number; readonly crossing: number; readonly sum: number } | undefined;
  for (const [i, count] of weights.entries()) {
    sum += count;
    const place = i + 1;
    const crossing = crossings[place] ?? Number.POSITIVE_INFINITY;
    if (place === weights.length) break;
    if (sum >= partValues / 2 && crossing <= Math.min(MAX_CROSSING, best?.crossing ?? MAX_CROSSING))
      best = { place, crossing, sum };
    if (sum < partValues || best === undefined) continue;
    bounds.push(best.place);
    sum -= best.sum;
    best = undefined;
  }
  // The end is not worth a part of its own.
  if (sum < partValues / 2) bounds.pop();
  return bounds;
}
