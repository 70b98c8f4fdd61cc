/**
 * The page's files without what only their authors read: a quarter less to load. They are text of ours, formatted by biome and tsc, so patterns will do;
 * /page/main.js and its neighbours stay readable in the browser's own formatter.
 */
const SHORTENERS: Readonly<Record<string, (text: string) => string>> = {
  html: (text) => withoutIndentation(text.replace(/<!--.*?-->\n?/gs, '')),
  // No string in page.css holds any of these characters.
  css: (text) =>
    text
      .replace(/\/\*.*?\*\//gs, '')
      .replace(/\s*([{},;])\s*/g, '$1')
      .replaceAll(': ', ':')
      .replaceAll(';}', '}')
      .trim(),
  // tsc has left the comments out and ends every statement with a semicolon or a brace. So a line break means no more than a blank, and beside a punctuation
  // mark nothing. None of what is replaced here stands within a string of the page's (a test holds them to that), and no sign follows a `+` or `-`.
  js: (text) =>
    withoutIndentation(text)
      .replace(/(?<=\W)\n|\n(?=\W)/g, '')
      .replaceAll(' => ', '=>')
      .replaceAll(') {', '){')
      .replaceAll('{ ', '{')
      .replaceAll(' }', '}')
      .replace(/\b(if|for|switch|catch) \(/g, '$1(')
      .replace(/ ([!=]==|=|[-+*<>]=?|[/?:]|&&|\|\||\?\?) /g, '$1'),
};

function withoutIndentation(text: string): string {
  return text.replace(/^ +/gm, '');
}

/** @param extension of the file, e.g. `css`; a kind without a rule stays as it is. */
export function shortened(text: string, extension: string): string {
  return SHORTENERS[extension]?.(text) ?? text;
}
