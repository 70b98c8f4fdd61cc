import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { textsFor } from '../../../../page/texts/language.ts';
import { english } from '../../../../page/texts/texts-en.ts';
import { chinese } from '../../../../page/texts/texts-zh.ts';

const html = readFileSync(join(packageRoot(), 'page', 'index.html'), 'utf8');

it('every word of the page has its Chinese, and no Chinese word has lost its place', () => {
  const keys = new Set([...html.matchAll(/data-text="(\w+)"/g)].map(([, key]) => key));
  expect(Object.keys(chinese.labels ?? {}).sort()).toEqual([...keys].sort());
  expect(html).not.toMatch(/data-text="\w+"[^>]*></);
});

it('both languages say something different about every failure', () => {
  for (const texts of [english, chinese]) {
    const whats = Object.values(texts.failures).map(([what]) => what);
    expect(new Set(whats).size).toBe(whats.length);
    for (const [what, todo] of Object.values(texts.failures)) {
      expect(what).not.toBe('');
      expect(todo).not.toBe('');
    }
  }
  for (const [what, todo] of Object.values(english.failures)) expect(what + todo).toMatch(/^[\x20-\x7e’]+$/);
  for (const [what, todo] of Object.values(chinese.failures)) expect(what + todo).toMatch(/\p{Script=Han}/u);
});

it.each([
  [['zh-CN', 'en'], 'zh-CN'],
  [['zh-TW'], 'zh-CN'],
  [['ZH'], 'zh-CN'],
  [['en-GB', 'zh-CN'], 'en'],
  [['fr'], 'en'],
  [[], 'en'],
])('%j reads %s', (languages, lang) => {
  expect(textsFor(languages).lang).toBe(lang);
});

it.each([
  [0, '0.0 s', '0.0 秒'],
  [3_140, '3.1 s', '3.1 秒'],
  [15_000, '15.0 s', '15.0 秒'],
])('%i ms are %s and %s', (ms, inEnglish, inChinese) => {
  expect([english.seconds(ms), chinese.seconds(ms)]).toEqual([inEnglish, inChinese]);
});
