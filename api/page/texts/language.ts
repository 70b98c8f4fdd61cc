import type { Texts } from './texts.ts';

/** Chinese when the browser's first language is Chinese, else English. Only the chosen language is fetched. */
export async function textsFor(languages: readonly string[]): Promise<Texts> {
  if (languages[0]?.toLowerCase().startsWith('zh')) return (await import('./texts-zh.ts')).chinese;
  return (await import('./texts-en.ts')).english;
}
