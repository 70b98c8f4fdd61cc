import { make } from './elements.ts';
import type { UploadResult } from './service.ts';
import type { FinalResult } from './stream-session.ts';
import type { Texts } from './texts.ts';

/** A result's figures as pairs of a `dl`; the title is the field's name in the interface. */
export function measures(result: FinalResult | UploadResult, texts: Texts): HTMLElement[] {
  const pair = (label: 'audioMs' | 'finalizeMs' | 'inferenceMs', field: string, ms: number): HTMLElement =>
    make('div', { title: field }, make('dt', {}, texts[label]), make('dd', {}, texts.milliseconds(ms)));
  return [
    pair('audioMs', 'audio_ms', result.audio_ms),
    'finalize_ms' in result
      ? pair('finalizeMs', 'finalize_ms', result.finalize_ms)
      : pair('inferenceMs', 'inference_ms', result.inference_ms),
  ];
}
