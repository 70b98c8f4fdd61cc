import { describe, expect, test } from 'vitest';
import { parseTokens, TokenTable } from '../../../../../inference/engine/text/tokens.ts';
import { TranscriptWriter } from '../../../../../inference/engine/text/transcript.ts';
import { ModelLoadError } from '../../../../../inference/recognizer.ts';

function table(...symbols: string[]): TokenTable {
  return new TokenTable('tokens.txt', new Map(symbols.map((symbol, id) => [id, symbol])));
}

/** The text of these symbols, each a token of its own. */
function write(...symbols: string[]): string {
  return new TranscriptWriter(table(...symbols)).text([...symbols.keys()]);
}

describe('tokens.txt', () => {
  test('is one symbol and one id a line; an id alone is a space; white space around is ignored', () => {
    expect([...parseTokens('<blk> 0\r\n\u3000 1\n 2\n\n▁你\t3\n', 'tokens.txt')]).toEqual([
      [0, '<blk>'],
      [1, '\u3000'],
      [2, ' '],
      [3, '▁你'],
    ]);
  });

  test.each([
    ['你', 'tokens.txt: line 1 is "你", expected "symbol id"'],
    ['<blk> 0\n你 好 1', 'tokens.txt: line 2 is "你 好 1", expected "symbol id"'],
    ['<blk> 0\n你 1 2', 'tokens.txt: line 2 is "你 1 2", expected "symbol id"'],
    ['<blk> 0\n你 -1', 'tokens.txt: line 2 is "你 -1", expected "symbol id"'],
    ['<blk> 0\n你 0', 'tokens.txt: line 2 gives id 0 to "你", expected it to be free (it is "<blk>")'],
  ])('%j is refused', (text, message) => {
    expect(() => parseTokens(text, 'tokens.txt')).toThrow(new ModelLoadError(message));
  });

  test('must fit the output of the model', () => {
    const tokens = table('<blk>', '你', '好');
    expect(() => tokens.checkAgainst(3, 'model.onnx')).not.toThrow();
    expect(() => tokens.checkAgainst(4, 'model.onnx')).toThrow(
      new ModelLoadError(
        'tokens.txt: found no symbol for id 3, expected ids 0 to 3 as in the output of model.onnx',
      ),
    );
    expect(() => tokens.checkAgainst(2, 'model.onnx')).toThrow(
      new ModelLoadError(
        'tokens.txt: found "好" with id 2, expected ids below 2 as in the output of model.onnx',
      ),
    );
    expect(() => table('<blk>', '你', '#0', '#1').checkAgainst(2, 'model.onnx')).not.toThrow();
    expect(() => table('<blk>', '你', '#').checkAgainst(2, 'model.onnx')).toThrow('found "#" with id 2');
  });

  test('names the blank', () => {
    expect(table('你', '<blk>', '<eps>').ctcBlankId).toBe(1);
    expect(table('<eps>', '<blank>').ctcBlankId).toBe(0);
    expect(table('你', '<blank>').ctcBlankId).toBe(1);
    expect(() => table('你').ctcBlankId).toThrow(
      new ModelLoadError('tokens.txt: found no blank symbol, expected one of <blk>, <eps>, <blank>'),
    );
  });
});

describe('text of tokens', () => {
  test.each([
    [['你', '好'], '你好'],
    [['▁你', '▁好'], '你好'],
    [['你', '▁', '好'], '你好'],
    [['你', ' ', '好'], '你好'],
    [['▁HE', 'LLO', '▁WORLD'], 'HELLO WORLD'],
    [['我', '▁USE', '▁NODE', '▁好'], '我 USE NODE 好'],
    [['你', '，', '▁好', '。'], '你，好。'],
    [['▁你', '▁，', '▁好', '▁。', '▁好'], '你，好。好'],
    [['你', '<unk>', '好', '<sos/eos>'], '你好'],
    [['a', '<', 'b'], 'a<b'],
    [['你', 'ƀ'], '你ƀ'],
    [['<0xE4>', '<0xBD>', '<0xA0>', '好'], '你好'],
    [['好', '<0xE4>', '<0xBD>'], '好'],
    [['<0xE4>', '好'], '好'],
    [['<0xBD>', '好'], '好'],
    [['<0x41>'], 'A'],
    [['<0xe4>', '<0xbd>', '<0xa0>'], '你'],
    [[], ''],
  ])('%j is %j', (symbols, text) => {
    expect(write(...symbols)).toBe(text);
  });

  test.each([
    [['▁HELLO', '▁,', '▁WORLD', '▁!'], 'HELLO, WORLD!', 'HELLO , WORLD !'],
    [
      ['▁我', '▁用', '▁CHAT', 'GPT', '▁，', '▁很', '▁OK', '▁。'],
      '我用 CHATGPT，很 OK。',
      '我用 CHATGPT ，很 OK 。',
    ],
    [['▁SAY', '▁“', '▁A'], 'SAY “ A', 'SAY “ A'],
  ])(
    'of transducers, as of the reference engine, no space stands before punctuation: %j',
    (symbols, text, other) => {
      const ids = [...symbols.keys()];
      expect(new TranscriptWriter(table(...symbols), 'transducer').text(ids)).toBe(text);
      expect(write(...symbols)).toBe(other);
    },
  );

  test('of byte-level BPE: each character is a byte', () => {
    // Bytes in the order of icefall's table: 0xE4 0xBD 0xA0 is 你, 0xE5 0xA5 0xBD is 好.
    const code = (...bytes: number[]): string => bytes.map((byte) => BYTE_CHARACTERS[byte]).join('');
    const you = code(0xe4, 0xbd, 0xa0);
    const good = code(0xe5, 0xa5, 0xbd);
    expect(you).toMatch(/[\u0180-\u01bf]/);
    expect(write(`▁${you}`, good)).toBe('你好');
    expect(write(`▁${you}`, '▁OK', '▁NO', `▁${good}`)).toBe('你OK NO 好');
    expect(write(`▁${you}`, good.slice(0, 2))).toBe('你');
    expect(write('▁OK', '▁', '▁NO', you)).toBe('OK NO你');
  });
});

/** Written down here once more, from the ranges of icefall's byte_utils. */
const BYTE_CHARACTERS = [
  [256, 287],
  [32, 126],
  [288, 305],
  [308, 318],
  [321, 328],
  [330, 382],
  [384, 422],
].flatMap(([first = 0, last = 0]) =>
  Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i)),
);
