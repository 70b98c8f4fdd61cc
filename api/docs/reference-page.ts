import { Marked } from 'marked';

/** A browser example in the reference: the text between two fences. Its first line is a comment with the file's name. */
const HTML_EXAMPLE = /^```html\n(<!-- ([\w-]+\.html) -->\n[\s\S]*?)^```$/gm;

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${anchor(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    paragraph({ tokens, text }) {
      // A wide page has its table of contents beside the text.
      const narrow = text.startsWith('Contents:') ? ' class="narrow"' : '';
      return `<p${narrow}>${this.parser.parseInline(tokens)}</p>\n`;
    },
    html: ({ text }) => escaped(text),
  },
});

/**
 * The Markdown reference as one HTML page, with a table of contents beside it and the same anchors as its Markdown has on code hosts.
 * @param styles the address of its style sheet
 */
export function referencePage(markdown: string, styles: string): string {
  const tokens = marked.lexer(markdown);
  const headings = tokens.flatMap((token) => (token.type === 'heading' && token['depth'] > 1 ? [token] : []));
  const contents = headings.map(
    ({ depth, text }) => `<li class="depth-${depth}"><a href="#${anchor(text)}">${escaped(text)}</a></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Chinese speech recognition: API reference</title>
<link rel="icon" href="page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${styles}">
</head>
<body>
<nav aria-label="Contents"><ol>
${contents.join('\n')}
</ol></nav>
<main>
${marked.parser(tokens)}</main>
</body>
</html>
`;
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
