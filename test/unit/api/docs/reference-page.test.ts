import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { referencePage, withBaseUrl } from '../../../../api/docs/reference-page.ts';
import { packageRoot } from '../../../../common/process/package-root.ts';

const markdown = readFileSync(join(packageRoot(), 'api/docs/reference/api-reference.md'), 'utf8');
const page = referencePage(markdown, 'api-reference.css');

/** What a reader sees: without tags, and with the characters that were escaped. */
const words = (html: string): string =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/&(#\d+|\w+);/g, (_, name: string) =>
      name.startsWith('#') ? String.fromCharCode(Number(name.slice(1))) : (ENTITIES[name] ?? ''),
    );
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };

describe('the reference as a page', () => {
  test('has every heading in its table of contents, and every link within leads somewhere', () => {
    const nav = /<nav[\s\S]*<\/nav>/.exec(page)?.[0] ?? '';
    const titles = [...nav.matchAll(/<a href="#[^"]*">([^<]*)</g)].map(([, title = '']) => words(title));
    const headings = [...markdown.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^##+ (.*)$/gm)];
    expect(titles).toEqual(headings.map(([, title]) => title));
    const ids = new Set([...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
    const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id);
    expect(targets.length).toBeGreaterThan(30);
    expect(targets.filter((id) => !ids.has(id))).toEqual([]);
  });

  test('says what the Markdown says: each code block as it stands, each cell of its tables', () => {
    const blocks = [...markdown.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
    const shown = [...page.matchAll(/<pre><code[^>]*>([\s\S]*?)<\/code><\/pre>/g)].map(
      ([, code = '']) => code,
    );
    expect(shown.map(words)).toEqual(blocks);
    const rows = markdown.match(/^\| (?!---).*$/gm) ?? [];
    expect(page.match(/<tr>/g)).toHaveLength(rows.length);
  });

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
