import { readdir, readFile } from 'node:fs/promises';
import { spread } from '../bench/statistics.ts';
import { markdownTable } from '../chaos/tally.ts';

/** What one process holds. */
export interface Holding {
  readonly rssMb: number;
  /** Open file descriptors. */
  readonly handles: number;
}

export interface Sample {
  /** Since the load began. */
  readonly minutes: number;
  readonly holdings: Readonly<Record<string, Holding>>;
  /** In Redis. */
  readonly keys: number;
}

/** How much more a process may hold in the last quarter than in the second one. */
const MOST_GROWTH = 1.05;

/** As Linux tells. @throws Error when there is no such process, or no Linux */
export async function holdingOf(pid: number): Promise<Holding> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const handles = (await readdir(`/proc/${pid}/fd`)).length;
  return { rssMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024, handles };
}

/** One row a minute, each with the last sample of its minute. */
export function minuteTable(samples: readonly Sample[]): string[] {
  const names = namesOf(samples);
  const minutesInAll = Math.max(1, Math.round(samples.at(-1)?.minutes ?? 0));
  const rows = Array.from({ length: minutesInAll }, (_, index) => index + 1).flatMap((minute) => {
    const last = samples.findLast(({ minutes }) => minutes <= minute);
    return last === undefined ? [] : [{ ...last, minute }];
  });
  return markdownTable([
    ['minute', ...names.map((name) => `${name}: MB, handles`), 'keys'],
    ...rows.map(({ minute, holdings, keys }) => [
      String(minute),
      ...names.map((name) => `${holdings[name]?.rssMb.toFixed(1)}, ${holdings[name]?.handles}`),
      String(keys),
    ]),
  ]);
}

/** The second quarter of the time against the last one, a row a process. */
export function growthTable(samples: readonly Sample[]): { lines: string[]; hasGrown: boolean } {
  const quarter = (index: number): readonly Sample[] =>
    samples.slice((samples.length * index) / 4, (samples.length * (index + 1)) / 4);
  const [second, last] = [quarter(1), quarter(3)];
  const median = (part: readonly Sample[], name: string, of: keyof Holding): number =>
    spread(part.map(({ holdings }) => holdings[name]?.[of] ?? 0)).median;
  const rows = namesOf(samples).map((name) => {
    const [before, after] = [median(second, name, 'rssMb'), median(last, name, 'rssMb')];
    const handles = [median(second, name, 'handles'), median(last, name, 'handles')];
    return { name, before, after, ratio: after / before, handles };
  });
  return {
    lines: markdownTable([
      ['process', 'second quarter, MB', 'last quarter, MB', 'ratio', 'handles'],
      ...rows.map(({ name, before, after, ratio, handles }) => [
        name,
        before.toFixed(1),
        after.toFixed(1),
        ratio.toFixed(3),
        handles.join(' → '),
      ]),
    ]),
    hasGrown: rows.some(({ ratio }) => ratio > MOST_GROWTH),
  };
}

const [WIDTH, HEIGHT, MARGIN] = [800, 300, 50];
const COLOURS = ['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b'];

/** Memory of all processes over time, as SVG. */
export function chart(samples: readonly Sample[]): string {
  const mostMb = Math.max(
    ...samples.flatMap(({ holdings }) => Object.values(holdings).map(({ rssMb }) => rssMb)),
  );
  const lastMinute = samples.at(-1)?.minutes ?? 1;
  const x = (minutes: number): string => (MARGIN + (minutes / lastMinute) * WIDTH).toFixed(1);
  const y = (mb: number): string => (MARGIN + (1 - mb / mostMb) * HEIGHT).toFixed(1);
  const lines = namesOf(samples).map((name, index) => {
    const points = samples.map(({ minutes, holdings }) => `${x(minutes)},${y(holdings[name]?.rssMb ?? 0)}`);
    const colour = COLOURS[index % COLOURS.length];
    const label = `<text x="${MARGIN + WIDTH + 8}" y="${MARGIN + 16 * index}" fill="${colour}">${name}</text>`;
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}"/>${label}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH + 4 * MARGIN}" height="${HEIGHT + 2 * MARGIN}" font-family="sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="white"/>',
    `<path d="M${MARGIN} ${MARGIN}V${MARGIN + HEIGHT}H${MARGIN + WIDTH}" fill="none" stroke="black"/>`,
    `<text x="4" y="${MARGIN}">${mostMb.toFixed(0)} MB</text><text x="4" y="${MARGIN + HEIGHT}">0</text>`,
    `<text x="${WIDTH}" y="${MARGIN + HEIGHT + 18}">${lastMinute.toFixed(1)} min</text>`,
    ...lines,
    '</svg>',
  ].join('\n');
}

function namesOf([first]: readonly Sample[]): string[] {
  return Object.keys(first?.holdings ?? {});
}
