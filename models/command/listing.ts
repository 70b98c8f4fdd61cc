import { formatBytes } from '../download/report.ts';
import type { ErrorRate, ModelCard } from '../model-card.ts';

export interface ListedModel {
  readonly card: ModelCard;
  /** Of the download; of the files for a model that needs none. */
  readonly bytes: number;
  /** In a word or two, whether it is here. */
  readonly state: string;
}

/**
 * The answer to `list`: a few lines a model, because one line would not fit a terminal. None is wider than
 * 110 columns.
 */
export function modelList(models: readonly ListedModel[]): string {
  const heads = models.map(({ card, bytes, state }) => [
    card.recommended ? `${card.id} (recommended)` : card.id,
    state,
    formatBytes(bytes),
    `${card.family}, ${card.isReDecoding ? 're-decoding' : 'streaming'} every ${card.stepMs} ms`,
  ]);
  const widths = heads[0]?.map((_, column) => Math.max(...heads.map((head) => head[column]?.length ?? 0)));
  const blocks = models.map(({ card }, row) => {
    const head = heads[row]?.map((cell, column) => cell.padEnd(widths?.[column] ?? 0)).join('  ');
    return [head?.trimEnd(), ...details(card)].join('\n');
  });
  return blocks.join('\n\n');
}

function details({ languages, summary, characterErrorRates, licence }: ModelCard): readonly string[] {
  return [
    ...labelled('languages', [`${languages}; ${summary}`]),
    ...labelled('error rate', published(characterErrorRates)),
    ...labelled('licence', [
      ...(licence === undefined ? ['not stated'] : [licence.name, licence.source]),
      ...(licence?.attribution === undefined ? [] : [`to be named: ${licence.attribution}`]),
    ]),
  ];
}

function labelled(label: string, lines: readonly string[]): readonly string[] {
  return lines.map((line, index) => `  ${(index === 0 ? label : '').padEnd(10)}  ${line}`);
}

/** What each source says on one line, the source below it. */
function published(rates: readonly ErrorRate[]): readonly string[] {
  if (rates.length === 0) return ['none published'];
  const sources = [...new Set(rates.map((rate) => rate.source))];
  return sources.flatMap((source) => {
    const own = rates.filter((rate) => rate.source === source);
    return [own.map(({ percent, testSet }) => `${percent} % on ${testSet}`).join(', '), source];
  });
}
