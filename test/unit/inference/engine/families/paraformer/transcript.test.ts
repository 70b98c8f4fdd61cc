import { expect, test } from 'vitest';
import { ParaformerTranscript } from '../../../../../../inference/engine/families/paraformer/transcript.ts';
import { TokenTable } from '../../../../../../inference/engine/text/tokens.ts';

test.each([
  ['你 好', '你好'],
  ['hello world', 'hello world'],
  ['he@@ llo wo@@ r@@ ld', 'hello world'],
  ['你 hello 好', '你 hello 好'],
  ['你 he@@ llo 好', '你 hello 好'],
  // A piece without its end: the next Latin symbol goes on with it, a Chinese one does not.
  ['he@@ 好 llo', 'he 好 llo'],
  ['he@@', 'he'],
  ['a b c 1 2', 'a b c 1 2'],
  ['<s> 你 <unk> 好 </s>', '你好'],
  ['<blank> hello <s> wor@@ <unk> ld', 'hello world'],
  ['', ''],
])('the tokens %j are the text %j', (tokens, text) => {
  const symbols = tokens.split(' ').filter((symbol) => symbol !== '');
  const table = new TokenTable('tokens.txt', new Map(symbols.map((symbol, id) => [id, symbol])));
  expect(new ParaformerTranscript(table).text([...symbols.keys()])).toBe(text);
});
