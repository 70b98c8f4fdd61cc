import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ByteTokens, wholeCharacterTokens } from '../../../../../inference/engine/text/byte-tokens.ts';
import { chineseText, readSimplify } from '../../../../../inference/engine/text/chinese-text.ts';
import { readTokenTable, TokenTable } from '../../../../../inference/engine/text/tokens.ts';
import { ModelLoadError } from '../../../../../inference/recognizer.ts';
import { modelFolders } from '../../../../../models/store/store.ts';

const END_ID = 10_171;

describe('the tokens of the bundled Whisper', () => {
  let tokens: ByteTokens;
  beforeAll(async () => {
    tokens = new ByteTokens(await readTokenTable(join(modelFolders().bundled, 'tokens.txt')), END_ID);
  });

  test.each(['你好', ' 以下是普通话的句子。', '㐀龘', 'Wi-Fi 6E', '汤姆帮我修好了我的手表', '😀'])(
    '%j is encoded and read back',
    (text) => {
      const ids = tokens.encode(text);
      expect(Buffer.from(tokens.bytes(ids)).toString()).toBe(text);
    },
  );

  test('the pair with the lowest rank is joined first', () => {
    const table = new TokenTable(
      'tokens.txt',
      new Map(['a', 'b', 'c', 'bc', 'ab'].map((text, id) => [id, Buffer.from(text).toString('base64')])),
    );
    expect(new ByteTokens(table, 5).encode('abc')).toEqual([0, 3]);
  });

  test('half a character at the end is not shown, and not agreed on', () => {
    const rare = tokens.encode('好龘');
    expect(rare.length).toBeGreaterThan(2);
    for (let count = 1; count < rare.length; count++)
      expect(chineseText(tokens.bytes(rare.slice(0, count)))).toBe('好');
    expect(chineseText(tokens.bytes(rare))).toBe('好龘');
    expect(wholeCharacterTokens(tokens, rare)).toBe(rare.length);
    expect(wholeCharacterTokens(tokens, rare.slice(0, -1))).toBe(1);
    expect(wholeCharacterTokens(tokens, [])).toBe(0);
  });
});

test.each([
  ['***', 'found no base64 for id 0'],
  ['', 'found no base64 for id 0'],
])('a symbol %j is refused', (symbol, message) => {
  const table = new TokenTable('tokens.txt', new Map([[0, symbol]]));
  expect(() => new ByteTokens(table, 1)).toThrow(ModelLoadError);
  expect(() => new ByteTokens(table, 1)).toThrow(message);
});

test.each([
  ['臺灣的學習', '台湾的学习'],
  ['后面的只有', '后面的只有'],
  ['Taiwan 29 度。', 'Taiwan 29 度。'],
  ['乾淨', '干净'],
])('%j is written %j', async (text, simplified) => {
  const simplify = await readSimplify();
  expect(simplify(text)).toBe(simplified);
});
