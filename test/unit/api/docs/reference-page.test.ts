import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { referencePage, wantedLanguage, withBaseUrl } from '../../../../api/docs/reference-page.ts';
import { packageRoot } from '../../../../common/process/package-root.ts';

const file = (name: string): string => readFileSync(join(packageRoot(), 'api/docs/reference', name), 'utf8');
const english = file('api-reference.md');
const chinese = file('api-reference.zh-CN.md');
const page = referencePage(english, 'api-reference.css');

/** What a reader sees: without tags, and with the characters that were escaped. */
const words = (html: string): string =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/&(#\d+|\w+);/g, (_, name: string) =>
      name.startsWith('#') ? String.fromCharCode(Number(name.slice(1))) : (ENTITIES[name] ?? ''),
    );
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };

describe.each([
  { language: 'en', markdown: english, html: page },
  { language: 'zh-CN', markdown: chinese, html: referencePage(chinese, 'a.css', 'zh-CN', english) },
])('the reference as a page, $language', ({ language, markdown, html: page }) => {
  test('has every heading in its table of contents, and every link within leads somewhere', () => {
    const nav = /<nav[\s\S]*<\/nav>/.exec(page)?.[0] ?? '';
    const titles = [...nav.matchAll(/<a href="#[^"]*">([^<]*)</g)].map(([, title = '']) => words(title));
    const headings = [...markdown.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^##+ (.*)$/gm)];
    expect(titles).toEqual(headings.map(([, title]) => title));
    const ids = new Set([...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
    const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id = '']) => decodeURI(id));
    expect(targets.length).toBeGreaterThan(30);
    expect(targets.filter((id) => !ids.has(id))).toEqual([]);
  });

  test('says what the Markdown says: each code block as it stands, each cell of its tables', () => {
    const blocks = [...markdown.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
    const shown = [...page.matchAll(/<pre tabindex="0"><code[^>]*>([\s\S]*?)<\/code><\/pre>/g)].map(
      ([, code = '']) => code,
    );
    expect(shown.map(words)).toEqual(blocks);
    const rows = markdown.match(/^\| (?!---).*$/gm) ?? [];
    expect(page.match(/<tr>/g)).toHaveLength(rows.length);
  });

  test('is in its language, and leads to the other', () => {
    expect(page).toContain(`<html lang="${language}">`);
    expect(page).toContain(`<title>${/^# (.*)$/m.exec(markdown)?.[1]}</title>`);
    const other = language === 'en' ? 'zh-CN' : 'en';
    expect(page).toContain(`<a href="api-reference.${other}" lang="${other}">`);
    // The table of contents that a wide page has beside the text.
    expect(page.match(/<p class="narrow">/g)).toHaveLength(1);
  });

  test('has no wide block that a keyboard cannot scroll, and no head without words', () => {
    expect(page).not.toMatch(/<pre>|<\/p>\n<table>|<th><\/th>/);
  });
});

test('every anchor of the English page leads to the same place in the Chinese one', () => {
  const ids = (html: string): string[] => [...html.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id);
  const inChinese = new Set(ids(referencePage(chinese, 'a.css', 'zh-CN', english)));
  expect(ids(page).filter((id) => !inChinese.has(id))).toEqual([]);
});

test('a line that ends within a Chinese paragraph does not show as a blank', () => {
  const html = referencePage(
    '# 题\n\n- 第一句。\n  **第二句** `a`\n\n三，\nfour 五\n（六）',
    'a.css',
    'zh-CN',
  );
  expect(words(/<h1[\s\S]*/.exec(html)?.[0] ?? '').trim()).toBe(
    '题\n\n第一句。第二句 a\n\n三，\nfour 五（六）',
  );
});

test.each([
  [undefined, 'en'],
  ['*', 'en'],
  ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN'],
  ['zh', 'zh-CN'],
  ['ZH-TW', 'zh-CN'],
  ['en-GB,en;q=0.9,zh;q=0.8', 'en'],
  ['de, zh;q=0.5, en ; q=0.4', 'zh-CN'],
  ['en;q=0.1,zh-Hans-CN;q=0.2', 'zh-CN'],
  ['zh;q=0', 'en'],
  ['zha, enm;q=1', 'en'],
  ['zh;q=x', 'en'],
  [',;q=,', 'en'],
])('a browser that asks for %j gets %s', (header, language) => {
  expect(wantedLanguage(header)).toBe(language);
});

describe('the reference as a page', () => {
  test('shows HTML in the text as text', () => {
    const html = referencePage(
      '# A <b>title</b>\n\n<script>alert(1)</script>\n\n`<i>` and <u>more</u>',
      'a.css',
    );
    const main = /<main>[\s\S]*/.exec(html)?.[0] ?? '';
    expect(main).not.toMatch(/<(b|script|i|u)>/);
    expect(words(main)).toContain('<script>alert(1)</script>');
  });

  test('names the address of the service, also in links, and no address gets out of an attribute', () => {
    expect(withBaseUrl(page, 'https://asr.example.com')).not.toMatch(/base_url/);
    expect(withBaseUrl(page, 'https://asr.example.com')).toContain(
      'href="https://asr.example.com/openapi.json"',
    );
    expect(withBaseUrl('<a href="%7Bbase_url%7D">', 'https://a.example/"><b>')).toBe(
      '<a href="https://a.example/&#34;&#62;&#60;b&#62;">',
    );
  });
});
