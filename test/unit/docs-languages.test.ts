import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';

/** Pages that exist in English and, beside it, in Chinese: NAME.md and NAME.zh-CN.md. */
const PAGES = [
  'api/docs/reference/api-reference',
  'docs/clients',
  'docs/configuration',
  'docs/models',
  'docs/deployment',
  'docs/several-people',
];

const read = (path: string): string => readFileSync(join(packageRoot(), path), 'utf8');

describe.each(PAGES)('%s says the same in both languages', (page) => {
  const english = sections(read(`${page}.md`));
  const chinese = sections(read(`${page}.zh-CN.md`));
  /** What is compared, with the English heading in front, so that a failure says where. */
  const both = <T>(of: (section: Section) => T): [english: unknown, chinese: unknown] => [
    english.map((section) => [section.heading, of(section)]),
    chinese.map((section, n) => [english[n]?.heading ?? section.heading, of(section)]),
  ];
  const alike = <T>(of: (section: Section) => T): void => {
    const [inEnglish, inChinese] = both(of);
    expect(inChinese).toEqual(inEnglish);
  };

  it('has the same headings', () => {
    alike(({ depth }) => depth);
  });

  it('has the same code, except in drawings', () => {
    alike(({ blocks }) => blocks.map((block) => (isDrawing(block) ? values(block) : block)));
  });

  it('has the same tables, with the same names and numbers in each row', () => {
    alike(({ rows }) => rows.map((row) => [row.split('|').length, names(row), numbers(row)]));
  });

  it('has the same names and numbers in its text, and as many items in its lists', () => {
    alike(({ prose }) => [...new Set(names(prose))]);
    alike(({ prose }) => [...new Set(numbers(prose))]);
    alike(({ prose }) => prose.match(/^ *- /gm)?.length ?? 0);
  });
});

const CHINESE = [...PAGES.map((page) => `${page}.zh-CN.md`), 'README.zh-CN.md', 'docs/migration.zh-CN.md'];

it.each(CHINESE)('%s is written as a Chinese engineer writes', (path) => {
  const text = read(path)
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/^ {4}.*$/gm, '')
    .replace(/`[^`\n]*`/g, '`');
  // A percent sign stands at its number, and marks between Chinese are full-width.
  expect(text.match(/.*\d %.*/g)).toBeNull();
  expect(text.match(/.*\p{Script=Han}[,;:?!].*/gu)).toBeNull();
  // One word a thing: 识别名额（slot） once, then 名额; 流式会话 and 流式连接, for 流 alone can be anything.
  expect(text.match(/\bslot\b/g)?.length ?? 0).toBeLessThanOrEqual(1);
  expect(text.match(/.*(?:识别权|错误的设置|流(?![式程量])).*/gu)).toBeNull();
  // A Chinese character takes two columns of a screen.
  const wide = (line: string): number => line.length + (line.match(/[\u2e80-\uffef]/g)?.length ?? 0);
  expect(text.split('\n').filter((line) => !line.startsWith('|') && wide(line) > 160)).toEqual([]);
});

it.each(CHINESE)('%s leads to Chinese pages where there are some', (path) => {
  const text = read(path).replace(/^English: .*$/m, '');
  const hasTwin = (link: string): boolean =>
    existsSync(join(packageRoot(), dirname(path), link.replace(/\.md$/, '.zh-CN.md')));
  const links = [...text.matchAll(/\]\(([\w./-]+(?<!\.zh-CN)\.md)/g)].map(([, link = '']) => link);
  expect(links.filter(hasTwin)).toEqual([]);
});

interface Section {
  readonly heading: string;
  readonly depth: number;
  /** Of code, fenced or indented, as they stand. */
  readonly blocks: readonly string[];
  readonly rows: readonly string[];
  readonly prose: string;
}

function sections(markdown: string): Section[] {
  const code = /^```[\s\S]*?^```$|(?:(?<=\n\n)|(?<=^ {4}.*\n))(?: {4}.*\n?)+/gm;
  const blocks: string[] = [];
  const marked = markdown.replace(code, (block) => `\0${blocks.push(block) - 1}\n`);
  return marked.split(/^(?=#+ )/m).map((text) => {
    const [, marks = '', heading = ''] = /^(#+) (.*)/.exec(text) ?? [];
    return {
      heading,
      depth: marks.length,
      blocks: [...text.matchAll(/\0(\d+)/g)].map(([, n]) => blocks[Number(n)] ?? ''),
      rows: text.match(/^\|.*/gm) ?? [],
      prose: text.replace(/^\|.*/gm, '').replace(/\0\d+/g, ''),
    };
  });
}

/** Boxes and arrows, with words between them. */
function isDrawing(block: string): boolean {
  return block.startsWith('```text') && block.includes('-->');
}

/** The codes and numbers of a drawing. */
function values(drawing: string): string[] {
  const found = drawing.match(/\{.*\}|\b(?:\d{4}|[a-z]+_[a-z]+\w*|busy|overloaded|timeout)\b/g) ?? [];
  return [...new Set(found)].sort();
}

/** What stands in code, sorted: each language has an order of words of its own. */
function names(text: string): string[] {
  return (text.match(/`[^`]+`/g) ?? []).sort();
}

function numbers(text: string): string[] {
  return (text.replace(/`[^`]+`/g, '').match(/\d[\d,.]*(?<![,.])/g) ?? []).sort();
}
