import { describe, expect, test } from 'vitest';
import { spokenPieces } from '../../../../../inference/engine/features/spoken-pieces.ts';

const BINS = 80;
/** log10 energies of a band. */
const LEVELS = { silence: -10, room: -4, faint: -1.6, click: 0, speech: 0 } as const;

/** @param stretches a level and how many frames it lasts. */
function found(...stretches: readonly (readonly [keyof typeof LEVELS, number])[]): number[][] {
  const logMel = stretches.flatMap(([level, frames]) =>
    Array.from({ length: frames * BINS }, (_, i) =>
      isSoft(level, Math.floor(i / BINS)) ? -2 : LEVELS[level],
    ),
  );
  return spokenPieces(Float32Array.from(logMel), BINS).map(({ start, end }) => [start, end]);
}

/** Between its vowels speech is softer. */
function isSoft(level: keyof typeof LEVELS, frame: number): boolean {
  return level === 'speech' && (frame % 10 === 4 || frame % 10 === 5);
}

describe('pieces, in frames of 10 ms', () => {
  test.each(['silence', 'room'] as const)('end at pauses of half a second: %s', (quiet) => {
    expect(found([quiet, 100], ['speech', 200], [quiet, 50], ['speech', 150], [quiet, 100])).toEqual([
      [80, 330],
      [330, 530],
    ]);
    expect(found([quiet, 100], ['speech', 200], [quiet, 49], ['speech', 150], [quiet, 100])).toEqual([
      [80, 520],
    ]);
  });

  test('say how much of them is speech', () => {
    const logMel = [-4, 0, -4, 0, -4].flatMap((level) => Array.from({ length: 60 * BINS }, () => level));
    // Two pieces of less than a second are one; the room in and around it is no speech.
    expect(spokenPieces(Float32Array.from(logMel), BINS)).toEqual([
      { start: 40, end: 270, spokenFrames: 120 },
    ]);
  });

  test('may be much fainter than others', () => {
    expect(found(['speech', 200], ['room', 100], ['faint', 200])).toEqual([
      [0, 230],
      [280, 500],
    ]);
  });

  test('are no longer than the recording', () => {
    expect(found(['speech', 137])).toEqual([[0, 137]]);
    expect(found(['room', 10], ['speech', 137])).toEqual([[0, 147]]);
  });

  test('go to the nearer neighbour if they are shorter than a second', () => {
    const short = ['speech', 60] as const;
    expect(found(['speech', 200], ['room', 60], short, ['room', 100], ['speech', 200])).toHaveLength(2);
    expect(found(['speech', 200], ['room', 60], short, ['room', 100], ['speech', 200])[1]).toEqual([
      400, 620,
    ]);
    expect(found(['speech', 200], ['room', 100], short, ['room', 60], ['speech', 200])[0]).toEqual([0, 230]);
    expect(found(['room', 100], short, ['room', 100])).toEqual([[80, 190]]);
  });

  test('are not made of clicks', () => {
    expect(found(['speech', 200], ['room', 100], ['click', 7], ['room', 100], ['speech', 200])).toEqual([
      [0, 230],
      [380, 607],
    ]);
    // But what is near belongs to what it is near to.
    expect(found(['room', 50], ['click', 7], ['room', 9], ['speech', 200], ['room', 100])).toEqual([
      [30, 290],
    ]);
  });
});

test.each([
  [new Float32Array(0)],
  [new Float32Array(BINS).fill(-10)],
  [new Float32Array(300 * BINS).fill(-10)],
])('there are none in nothing and in silence', (logMel) => {
  expect(spokenPieces(logMel, BINS)).toEqual([]);
});
