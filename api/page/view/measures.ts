import type { Measure, Texts } from '../texts/texts.ts';
import { make } from './elements.ts';

/** In the order in which they are shown. */
const FIELDS: readonly Measure[] = ['audio_ms', 'finalize_ms', 'inference_ms'];

/** A result's figures as pairs of a `dl`; the title is the field's name in the interface. */
export function measures(texts: Texts, result: Readonly<Partial<Record<Measure, number>>>): HTMLElement[] {
  return FIELDS.flatMap((field) => {
    const ms = result[field];
    if (ms === undefined) return [];
    const [name, value] = [make('dt', {}, texts.measures[field]), make('dd', {}, texts.milliseconds(ms))];
    return make('div', { title: field }, name, value);
  });
}
