import { Marked } from 'marked';

/** A browser example in the reference: the text between two fences. Its first line is a comment with the file's name. */
const HTML_EXAMPLE = /^```html\n(<!-- ([\w-]+\.html) -->\n[\s\S]*?)^```$/gm;

/** The languages of the reference, with what its page says besides. Code hosts call them so, too. */
export const WORDS = {
  en: {
    contents: 'Contents',
    title: 'Contents:',
    other: '<a href="api-reference.zh-CN" lang="zh-CN">简体中文</a>',
  },
  'zh-CN': { contents: '目录', title: '目录：', other: '<a href="api-reference.en" lang="en">English</a>' },
} as const;
export type Language = keyof typeof WORDS;

/** The language that a browser asks for by Accept-Language (RFC 9110, 12.5.4): English if it asks for none of ours. */
export function wantedLanguage(header = ''): Language {
  const ranges = header.split(',').map((range) => {
    const [tag = '', weight = '1'] = range.toLowerCase().split(/;\s*q=/);
    return { tag: tag.trim(), weight: Number(weight) };
  });
  const ours = ranges.filter(({ tag, weight }) => /^(en|zh)(-|$)/.test(tag) && weight > 0);
  const [best] = ours.sort((one, other) => other.weight - one.weight);
  return best?.tag.startsWith('zh') ? 'zh-CN' : 'en';
}

/**
 * The Markdown reference as one HTML page, with a table of contents beside it and the same anchors as its
 * Markdown has on code hosts.
 * @param styles the address of its style sheet
 * @param original the English reference: its anchors lead to the same places in every language, because one
 * address serves them all
 */
export function referencePage(
  markdown: string,
  styles: string,
  language: Language = 'en',
  original: string = markdown,
): string {
  const { contents, title, other } = WORDS[language];
  const originals = headings(original);
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = anchor(text);
        const originalId = anchor(originals.shift()?.text ?? text);
        const also = originalId === id ? '' : `<span id="${originalId}"></span>`;
        return `<h${depth} id="${id}">${also}${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      paragraph({ tokens, text }) {
        // A wide page has its table of contents beside the text.
        const narrow = text.startsWith(title) ? ' class="narrow"' : '';
        return `<p${narrow}>${this.parser.parseInline(tokens)}</p>\n`;
      },
      html: ({ text }) => escaped(text),
    },
  });
  const [{ text: name = '' } = {}, ...parts] = headings(markdown);
  const entries = parts.map(
    ({ depth, text }) => `<li class="depth-${depth}"><a href="#${anchor(text)}">${escaped(text)}</a></li>`,
  );
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(name)}</title>
<link rel="icon" href="page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${styles}">
</head>
<body>
<nav aria-label="${contents}"><ol>
${entries.join('\n')}
</ol></nav>
<main>
<p class="language">${other}</p>
${operable(marked.parse(unbroken(markdown), { async: false }))}</main>
</body>
</html>
`;
}

function headings(markdown: string): { depth: number; text: string }[] {
  return new Marked()
    .lexer(markdown)
    .flatMap((token) => (token.type === 'heading' ? [{ depth: token['depth'], text: token['text'] }] : []));
}

/** Chinese has no blanks between words: a line that ends within a paragraph must not show as one. */
function unbroken(markdown: string): string {
  return markdown.replace(/([\p{Script=Han}，。：；！？、）”])\n *(?=\**[\p{Script=Han}（“])/gu, '$1');
}

/** Wide code and tables can be scrolled from the keyboard, and a cell without words is no head. */
function operable(html: string): string {
  return html
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<th></th>', '<td></td>');
}

/** The browser examples of the reference, as they stand there, by their file names. */
export function browserExamples(markdown: string): ReadonlyMap<string, string> {
  return new Map(Array.from(markdown.matchAll(HTML_EXAMPLE), ([, code = '', file = '']) => [file, code]));
}

/** Puts the service's address where a page made from the reference leaves room for it, also within links. */
export function withBaseUrl(html: string, baseUrl: string): string {
  return html.replaceAll(/\{base_url\}|%7Bbase_url%7D/g, () => escaped(baseUrl));
}

/** The anchor of a heading, as GitHub makes it, so that the links of the Markdown hold. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
