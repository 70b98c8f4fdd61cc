import { describe, expect, test } from 'vitest';
import { parseHotwords } from '../../../../../inference/engine/postprocessing/hotword-list.ts';
import type { Judge } from '../../../../../inference/engine/postprocessing/judge.ts';
import { Postprocessor } from '../../../../../inference/engine/postprocessing/postprocessor.ts';

/** @param list phrases with commas between them */
async function processor(list: string): Promise<Postprocessor> {
  const made = new Postprocessor();
  await made.use(parseHotwords(list.replaceAll(',', '\n')).hotwords);
  return made;
}

/** Takes whatever text it is asked about for as likely as the old one. */
const indifferent: Judge = async (texts) => texts.map(() => ({ nats: 0, alternatives: [] }));

describe('what sounds like a listed phrase becomes that phrase, if the judge is indifferent', () => {
  test.each([
    ['the same syllables', '敬离人很高', '净利人', '净利人很高'],
    ['two characters', '看见此了', '刺客,此地,建此', '看建此了'],
    ['zh and z, -ng and -n', '真正的增真', '整整', '整整的整整'],
    ['n, l and r', '牛奶了', '流赖', '流赖了'],
    ['f and h', '发回了', '花飞', '发回了'],
    ['hui and fei are other syllables', '飞了', '回了', '飞了'],
    ['one of three half as near', '敬利人', '净利润', '净利润'],
    ['not one of two half as near', '利人', '利润', '利人'],
    ['one of four another', '大力普吉', '大礼普什', '大礼普什'],
    ['not one of three another', '力普吉', '礼普大', '力普吉'],
    ['not two half as near', '敬利人事', '净离润势', '净离润势'],
    ['a character with several readings, by its neighbours', '城庆路', '重庆路', '重庆路'],
  ])('%s: %s, %s', async (_what, text, list, corrected) => {
    expect(await (await processor(list)).final(text, indifferent)).toBe(corrected);
  });

  test('but not across marks, digits and Latin letters', async () => {
    for (const text of ['敬,利润', '敬3利润', '敬a利润', '敬 利润'])
      expect(await (await processor('净利润')).final(text, indifferent)).not.toContain('净');
  });

  test('and never where a listed phrase stands that would go', async () => {
    const made = await processor('市场需求,视场');
    expect(await made.final('根据市场需求', indifferent)).toBe('根据市场需求');
    expect(await made.final('根据市场', indifferent)).toBe('根据视场');
    // This one stays.
    expect(await (await processor('东京奥运,奥运组委会')).final('东京奥运族委会', indifferent)).toBe(
      '东京奥运组委会',
    );
  });
});

describe('the judge decides', () => {
  /** Nats that a text with this phrase is less likely by. */
  function against(cost: Readonly<Record<string, number>>): Judge {
    return async (texts) =>
      texts.map((text) => {
        const found = Object.entries(cost).filter(([phrase]) => text.includes(phrase));
        return { nats: -found.reduce((sum, [, nats]) => sum + nats, 0), alternatives: [] };
      });
  }

  test('by the score, in nats a character', async () => {
    const made = await processor('净利润');
    expect(await made.final('敬利润', against({ 净利润: 7.4 }))).toBe('净利润');
    expect(await made.final('敬利润', against({ 净利润: 7.6 }))).toBe('敬利润');
    const shy = await processor('净利润 :1');
    expect(await shy.final('敬利润', against({ 净利润: 2.9 }))).toBe('净利润');
    expect(await shy.final('敬利润', against({ 净利润: 3.1 }))).toBe('敬利润');
  });

  test('the best first, and nothing over it', async () => {
    const made = await processor('奥运组委会,组委,佐野研二郎');
    expect(await made.final('奥运族委会', against({ 奥运组委会: 9, 组委: 1 }))).toBe(
      '奥运族委会'.replace('族', '组'),
    );
    expect(await made.final('奥云族委,昨夜言二郎', against({}))).toBe('奥云组委，佐野研二郎');
    const two = await processor('精良,惊凉');
    expect(await two.final('京凉', against({ 精良: 3, 惊凉: 2 }))).toBe('惊凉');
  });

  test('on at most 16 texts beside the old one, the nearest first', async () => {
    const asked: string[] = [];
    const judge: Judge = async (texts) => {
      asked.push(...texts);
      return texts.map(() => ({ nats: -1000, alternatives: [] }));
    };
    const made = await processor('识别器,十倍七,事被其');
    await made.final(`石碑起${'十倍起'.repeat(20)}`, judge);
    expect(asked).toHaveLength(17);
    expect(await made.final('你好', judge)).toBe('你好');
    expect(asked, 'no candidate, no question').toHaveLength(17);
  });

  test('not on an empty text', async () => {
    const failing: Judge = () => Promise.reject(new Error('asked'));
    expect(await (await processor('净利润')).final('', failing)).toBe('');
  });
});

describe('without a judge', () => {
  test.each([
    ['three characters of the same sound', '敬丽润', '净利润', '净利润'],
    ['not two', '敬丽', '净利', '敬丽'],
    ['not where a syllable is another', '敬离人', '净利润', '敬离人'],
    ['whatever the score', '敬丽润', '净利润 :0', '净利润'],
    ['of equals the one that leaves more as it is', '敬利润', '静立润,净利润', '净利润'],
  ])('%s: %s, %s', async (_what, text, list, corrected) => {
    expect(await (await processor(list)).final(text, undefined)).toBe(corrected);
  });
});

test.each([
  ['用chatgpt写', 'ChatGPT', '用ChatGPT写'],
  ['CHATGPT and iphone', 'ChatGPT,iPhone', 'ChatGPT and iPhone'],
  ['ｃｈａｔｇｐｔ', 'ChatGPT', 'ChatGPT'],
  ['chatgpts 和 mychatgpt', 'ChatGPT', 'chatgpts 和 mychatgpt'],
  ['wi-fi 6', 'Wi-Fi', 'Wi-Fi 6'],
  ['c++和c', 'C++', 'C++和c'],
  ['买t恤', 'T恤', '买T恤'],
  ['new york', 'New York,york', 'New York'],
])('words that are not Chinese are spelled as listed: %s, %s', async (text, list, spelled) => {
  expect(await (await processor(list)).final(text, undefined)).toBe(spelled);
});

test('a partial text is not corrected, and both are written as Chinese is', async () => {
  const made = await processor('净利润');
  expect(made.partial('敬利润,好')).toBe('敬利润，好');
  expect(await made.final('敬利润,好', indifferent)).toBe('净利润，好');
  expect(await new Postprocessor().final('敬利润,好', indifferent)).toBe('敬利润，好');
});

describe('phrases with numbers meet digits and characters, and are written as listed', () => {
  const unsure: Judge = async (texts) => texts.map((_, i) => ({ nats: i === 0 ? 0 : -5, alternatives: [] }));

  test.each([
    ['设定29度', '二十九度', '设定二十九度'],
    ['设定 29 度', '二十九度', '设定二十九度'],
    ['设定二十九度', '29度', '设定29度'],
    ['设定２９度', '29度', '设定29度'],
    ['三百斤硬币', '300斤', '300斤硬币'],
    ['300斤硬币', '三百斤', '三百斤硬币'],
    ['200块', '两百块', '两百块'],
    ['买小米十四', '小米14', '买小米14'],
    ['10点钟', '十点钟', '十点钟'],
    ['12000步', '一万二千步', '一万二千步'],
    ['2008年', '二零零八年', '二零零八年'],
    ['1205室', '一千二百零五室', '一千二百零五室'],
    ['设定 29 多', '二十九度', '设定二十九度'],
    ['设定二十九多', '29度', '设定29度'],
  ])('%s, %s', async (text, list, corrected) => {
    // Also where the digits fit the recording better: it is the same word.
    expect(await (await processor(list)).final(text, unsure)).toBe(corrected);
  });

  test.each([
    ['129度', '二十九度', '129度'],
    ['3.29度', '29度', '3.29度'],
    ['4G度', 'G度', '4G度'],
    ['10:29分', '29分', '10:29分'],
  ])('but not within a larger number: %s, %s', async (text, list, same) => {
    expect(await (await processor(list)).final(text, unsure)).toBe(same);
  });
});

test.each([
  ['埃隆马斯克说', '埃隆·马斯克', '埃隆·马斯克说'],
  ['埃隆・马斯克说', '埃隆·马斯克', '埃隆·马斯克说'],
  ['埃龙马思克说', '埃隆‧马斯克', '埃隆‧马斯克说'],
  ['埃龙·马思克说', '埃隆·马斯克', '埃隆·马斯克说'],
])('a name with a middle dot is matched without it: %s, %s', async (text, list, corrected) => {
  expect(await (await processor(list)).final(text, indifferent)).toBe(corrected);
});

test('traditional phrases match, and are written simplified, as texts are', async () => {
  expect(await (await processor('淨利潤')).final('敬利润', indifferent)).toBe('净利润');
  expect(await (await processor('T恤衫,臺積電')).final('台机电', indifferent)).toBe('台积电');
});
