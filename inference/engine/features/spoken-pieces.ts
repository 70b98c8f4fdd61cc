/** A stretch of speech in a recording, in frames of 10 ms. */
export interface Piece {
  readonly start: number;
  /** Behind its last frame. */
  readonly end: number;
  /** Frames in it that are speech and no pause. */
  readonly spokenFrames: number;
}

/** Mel bands below it (150 Hz) hold hum and wind: 4 of 80. */
const FIRST_BAND_SHARE = 1 / 20;
/** Digital silence lies further below the loud frames than any room. */
const ROOM_DB = 60;
/** Where between quiet and loud speech begins. Between 0.2 and 0.5, 123 to 127 of 127 joints of sentences were found. */
const THRESHOLD_SHARE = 0.4;
const MIN_STEP_DB = 6;
const CLICK_FRAMES = 8;
const CLICK_DISTANCE_FRAMES = 10;
/** Within 227 sentences there were 11 pauses of half a second, and 53 of 0.3 s. */
const PAUSE_FRAMES = 50;
const MIN_PIECE_FRAMES = 100;
/** Quiet that is kept at both ends. With two seconds of it in front, Whisper says a piece two or three times. */
export const MARGIN_FRAMES = PAUSE_FRAMES / 2;
/** Ends are rounded to it: the levels that they depend on change while a recording grows. */
const GRID_FRAMES = 10;

/**
 * Cuts a recording at its pauses of half a second. The quiet in a pause may be silence, a room or noise.
 * @param logMel log10 mel energies, (frames, bins) row by row.
 * @returns in order, not overlapping; empty if nothing is louder than the rest.
 */
export function spokenPieces(logMel: Float32Array, bins: number): Piece[] {
  const levels = frameLevels(logMel, bins);
  const runs = loudRuns(levels, speechThreshold(levels)).filter(
    (run, i, all) => !isClick(run, all[i - 1], all[i + 1]),
  );
  const pieces: Piece[] = [];
  for (const run of runs) {
    const last = pieces.at(-1);
    if (last !== undefined && run.start - last.end < PAUSE_FRAMES)
      pieces[pieces.length - 1] = joined(last, run);
    else pieces.push(run);
  }
  return withMargins(withoutShort(pieces), levels.length);
}

/** Of each frame, in dB. */
function frameLevels(logMel: Float32Array, bins: number): Float64Array {
  const firstBand = Math.round(bins * FIRST_BAND_SHARE);
  const levels = new Float64Array(logMel.length / bins);
  for (let frame = 0; frame < levels.length; frame++) {
    let power = 0;
    for (let band = firstBand; band < bins; band++)
      power += Math.exp(Math.LN10 * (logMel[frame * bins + band] ?? 0));
    levels[frame] = 10 * Math.log10(power);
  }
  return levels;
}

function speechThreshold(levels: Float64Array): number {
  const loud = quantile(levels, 0.95);
  const quiet = quantile(
    levels.filter((level) => level > loud - ROOM_DB),
    0.05,
  );
  return quiet + Math.max(THRESHOLD_SHARE * (loud - quiet), MIN_STEP_DB);
}

function quantile(values: Float64Array, share: number): number {
  return values.toSorted()[Math.floor(share * (values.length - 1))] ?? 0;
}

function loudRuns(levels: Float64Array, threshold: number): Piece[] {
  const runs: Piece[] = [];
  for (const [frame, level] of levels.entries()) {
    if (level <= threshold) continue;
    const last = runs.at(-1);
    const run = { start: frame, end: frame + 1, spokenFrames: 1 };
    if (last?.end === frame) runs[runs.length - 1] = joined(last, run);
    else runs.push(run);
  }
  return runs;
}

/** Whether a run is short and far from both its neighbours. */
function isClick(run: Piece, before: Piece | undefined, behind: Piece | undefined): boolean {
  if (run.end - run.start >= CLICK_FRAMES) return false;
  const isNear = (gapFrames: number): boolean => gapFrames < CLICK_DISTANCE_FRAMES;
  return !isNear(run.start - (before?.end ?? -Infinity)) && !isNear((behind?.start ?? Infinity) - run.end);
}

/** A piece shorter than a second goes to the nearer neighbour. */
function withoutShort(pieces: readonly Piece[]): Piece[] {
  const left = [...pieces];
  const pause = (i: number): number => (left[i]?.start ?? Infinity) - (left[i - 1]?.end ?? -Infinity);
  for (;;) {
    const short = left.findIndex(({ start, end }) => end - start < MIN_PIECE_FRAMES);
    if (short < 0 || left.length === 1) return left;
    const first = pause(short) < pause(short + 1) ? short - 1 : short;
    left.splice(first, 2, left.slice(first, first + 2).reduce(joined));
  }
}

function joined(a: Piece, b: Piece): Piece {
  return { start: a.start, end: b.end, spokenFrames: a.spokenFrames + b.spokenFrames };
}

function withMargins(pieces: readonly Piece[], frames: number): Piece[] {
  const onGrid = (frame: number): number => GRID_FRAMES * Math.round(frame / GRID_FRAMES);
  return pieces.map(({ start, end, spokenFrames }) => ({
    spokenFrames,
    start: Math.max(0, onGrid(start - MARGIN_FRAMES)),
    end: Math.min(frames, onGrid(end + MARGIN_FRAMES)),
  }));
}
