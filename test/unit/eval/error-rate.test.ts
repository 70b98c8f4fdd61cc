import { describe, expect, it } from 'vitest';
import { countErrors, errorRatePercent, spokenCharacters } from '../../eval/error-rate.ts';

describe('what counts of a text', () => {
  it.each([
    ['ASCII digits, one by one', '29', '二九'],
    ['a number in words stays one', '二十九', '二十九'],
    ['all ten digits', '0123456789', '零一二三四五六七八九'],
    ['digits beside letters and characters', 'A4纸第3页', 'a四纸第三页'],
    ['full-width digits', '１２０', '一二零'],
    ['numbers that NFKC takes apart', '②Ⅷ½', '二viii一二'],
    ['幺', '幺三八', '一三八'],
    ['〇, which NFKC keeps', '二〇二〇年', '二零二零年'],
    ['digits of other scripts are left', '٣', '٣'],
    ['case', 'GitHub', 'github'],
    ['full-width letters', 'ＯＫ', 'ok'],
    ['punctuation of both kinds', '你好,世界！“是”、《不》…(三号门)', '你好世界是不三号门'],
    ['symbols', '50%+¥3♪', '五零三'],
    ['spaces of every kind', ' 你 好\u3000吗\t\n', '你好吗'],
    ['simplified is not traditional', '門', '門'],
    ['nothing', '。', ''],
  ])('%s: "%s" is "%s"', (_what, text, spoken) => {
    expect(spokenCharacters(text).join('')).toBe(spoken);
  });
});

describe('character error rate', () => {
  it.each([
    ['你好吗', '你好吗', 0, 3],
    ['你好吗', '你好', 1, 3],
    ['你好', '你好吗', 1, 2],
    ['你好吗', '您好吗', 1, 3],
    ['你好吗', '好吗你', 2, 3],
    ['你好吗', '', 3, 3],
    ['', '啊', 1, 0],
    ['天气预报', '今天的天气', 4, 4],
    ['设定二十九度', '设定29度。', 1, 6],
    ['一三八零八五五三三幺六', '13808553316', 0, 11],
    ['13808553316', '一三八〇八五五三三幺六', 0, 11],
    ['他说:“ABC”。', '他说abc', 0, 5],
    // Outside the basic plane, and still one character.
    ['𠮷野家', '吉野家', 1, 3],
  ])('counts the edits from "%s" to "%s" as %i of %i', (truth, heard, wrong, total) => {
    expect(countErrors(truth, heard)).toEqual({ wrong, total });
  });

  it('is a percentage of what was said, 0 for silence heard as silence', () => {
    expect(errorRatePercent({ wrong: 1, total: 8 })).toBe(12.5);
    expect(errorRatePercent({ wrong: 0, total: 0 })).toBe(0);
    expect(errorRatePercent({ wrong: 2, total: 0 })).toBe(Number.POSITIVE_INFINITY);
  });
});
