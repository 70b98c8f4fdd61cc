import type { HotwordList } from '../../inference/engine/postprocessing/hotword-list.ts';
import { countErrors, type Errors, errorRatePercent } from './error-rate.ts';
import { countHotwords } from './hotwords.ts';
import type { Hearing, Measurement } from './measure.ts';

/** What a model made of a set that came in one way. */
interface Summary {
  readonly errors: Errors;
  readonly recordings: number;
  /** Recordings without a wrong character. */
  readonly right: number;
  /** Model time for a second of audio, in seconds. */
  readonly realTimeFactor: number;
  /** 0 where no recording had an update. */
  readonly longestUpdateMs: number;
}

function summarize(measurements: readonly Measurement[], way: 'upload' | 'stream'): Summary {
  const hearings = measurements.map((measurement) => measurement[way]);
  const updatesMs = hearings.flatMap((hearing) => hearing.updatesMs);
  const modelMs = sum(updatesMs) + sum(hearings.map(({ finishMs }) => finishMs));
  return {
    errors: {
      wrong: sum(hearings.map(({ errors }) => errors.wrong)),
      total: sum(hearings.map(({ errors }) => errors.total)),
    },
    recordings: hearings.length,
    right: hearings.filter(isRight).length,
    realTimeFactor: modelMs / sum(measurements.map(({ audioMs }) => audioMs)),
    longestUpdateMs: updatesMs.reduce((longest, ms) => Math.max(longest, ms), 0),
  };
}

/** A line for the uploads and one for the streams. */
export function summaryLines(measurements: readonly Measurement[]): string[] {
  const streams = summarize(measurements, 'stream');
  const different = measurements.filter(differs).length;
  return [
    `uploads ${describe(summarize(measurements, 'upload'))}`,
    `streams ${describe(streams)}, longest update ${streams.longestUpdateMs.toFixed(0)} ms, ${different} with another text than the upload`,
  ];
}

function describe({ errors, recordings, right, realTimeFactor }: Summary): string {
  return [
    `${percent(errors)} (${errors.wrong} of ${errors.total} characters wrong)`,
    `${right} of ${recordings} recordings right`,
    `${realTimeFactor.toFixed(3)} s for a second of audio`,
  ].join(', ');
}

/** How many phrases a list has, and how many lines are ignored for which reason. */
export function listLine({ hotwords, ignored }: HotwordList): string {
  const reasons = Object.entries(ignored).map(([reason, lines]) => `${lines.length} × ${reason}`);
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  const plural = hotwords.length === 1 ? '' : 's';
  return `hot words: ${hotwords.length} phrase${plural}, ${Object.values(ignored).flat().length} ignored${why}`;
}

/**
 * What the list does to the uploads.
 * @param before their texts without it
 */
export function hotwordLine(
  { hotwords }: HotwordList,
  before: readonly string[],
  measurements: readonly Measurement[],
): string {
  const phrases = hotwords.map(({ phrase }) => phrase);
  const texts = measurements.map(({ truth, upload }, i) => ({
    truth,
    before: before[i] ?? '',
    after: upload.text,
  }));
  const { said, rightBefore, rightAfter, lost, falseAfter } = countHotwords(phrases, texts);
  return `phrases ${rightBefore} of ${said} right without the list, ${rightAfter} with it, ${lost} lost, ${falseAfter} false`;
}

/** A text with the language model and without it. */
interface Change {
  readonly name: string;
  readonly truth: string;
  readonly without: string;
  readonly with: string;
}

/**
 * What the language model changes in the uploads.
 * @param texts of all recordings
 * @param shown whether the changed ones are listed: those that become worse first
 */
export function languageModelLines(texts: readonly Change[], shown: boolean): string[] {
  const changes = texts
    .filter((text) => text.with !== text.without)
    .map((text) => {
      const [before, after] = [countErrors(text.truth, text.without), countErrors(text.truth, text.with)];
      return { ...text, before: before.wrong, after: after.wrong };
    });
  const better = changes.filter(({ before, after }) => after < before).length;
  const worse = changes.filter(({ before, after }) => after > before).length;
  const list = changes
    .sort((a, b) => b.after - b.before - (a.after - a.before) || a.name.localeCompare(b.name))
    .flatMap((change) => [
      `  ${change.before} → ${change.after} wrong  ${change.name}`,
      `    without  ${change.without}`,
      `    with     ${change.with}`,
    ]);
  const [first, second] = ['without', 'with'].map((way) => {
    const errors = texts.map((text) => countErrors(text.truth, way === 'with' ? text.with : text.without));
    return percent({
      wrong: sum(errors.map(({ wrong }) => wrong)),
      total: sum(errors.map(({ total }) => total)),
    });
  });
  return [
    `language model: ${first?.trim()} without it, ${second?.trim()} with it; ${changes.length} text${changes.length === 1 ? '' : 's'} changed, ${better} better, ${worse} worse`,
    ...(shown ? list : []),
  ];
}

/**
 * The sentences, the worst first. A sentence counts as its upload or its stream does, whichever is worse; the
 * stream's text is shown where it differs. The texts come last, on lines of their own, because Chinese
 * characters have no sure width in a terminal.
 * @param all also those that are right and the same both ways
 */
export function tableLines(measurements: readonly Measurement[], all: boolean): string[] {
  const shown = measurements.filter(
    (measurement) => all || worse(measurement).wrong > 0 || differs(measurement),
  );
  return shown.sort(byErrors).flatMap((measurement) => {
    const { name, truth, upload, stream } = measurement;
    const errors = worse(measurement);
    const lines = [
      `${percent(errors)} (${errors.wrong} of ${errors.total})  ${name}`,
      `  said    ${truth}`,
      `  heard   ${upload.text}`,
    ];
    return differs(measurement) ? [...lines, `  stream  ${stream.text}`] : lines;
  });
}

function byErrors(a: Measurement, b: Measurement): number {
  const [first, second] = [worse(a), worse(b)];
  // The first difference is NaN where both rates are infinite.
  return (
    errorRatePercent(second) - errorRatePercent(first) ||
    second.wrong - first.wrong ||
    a.name.localeCompare(b.name)
  );
}

const worse = ({ upload, stream }: Measurement): Errors =>
  stream.errors.wrong > upload.errors.wrong ? stream.errors : upload.errors;

const differs = ({ upload, stream }: Measurement): boolean => stream.text !== upload.text;

const isRight = ({ errors }: Hearing): boolean => errors.wrong === 0;

function percent(errors: Errors): string {
  const rate = errorRatePercent(errors);
  return `${(Number.isFinite(rate) ? rate.toFixed(1) : '∞').padStart(5)} %`;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
