import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { countHotwords, type HotwordFigures, readHotwords } from '../../eval/hotwords.ts';
import { testFolder } from '../../support/folders.ts';

const NONE: HotwordFigures = { said: 0, rightBefore: 0, rightAfter: 0, lost: 0, falseAfter: 0 };

it.each<[string, string, string, string, string, Partial<HotwordFigures>]>([
  ['is fixed', '周董', '周董来了', '周东来了', '周董来了。', { said: 1, rightAfter: 1 }],
  ['stays right', '周董', '周董来了', '周董来了', '周董来了', { said: 1, rightBefore: 1, rightAfter: 1 }],
  ['stays wrong', '周董', '周董来了', '周东来了', '周东来了', { said: 1 }],
  ['is lost', '周董', '周董来了', '周董来了', '周东来了', { said: 1, rightBefore: 1, lost: 1 }],
  ['is inserted', '周董', '昼动夜静', '昼动夜静', '周董夜静', { falseAfter: 1 }],
  ['was inserted without the list, too', '周董', '昼动', '周董', '周董', { falseAfter: 1 }],
  ['is a number in words, and heard in digits', '二十九', '二十九', '29', '29', { said: 1 }],
  ['has a digit', '4月', '四月', '四月', '4月', { said: 1, rightBefore: 1, rightAfter: 1 }],
  ['has letters', 'GitHub', 'ＧＩＴＨＵＢ', 'github', 'Git Hub', { said: 1, rightBefore: 1, rightAfter: 1 }],
  [
    'is said twice',
    '周董',
    '周董和周董',
    '周董和周东',
    '周董和周董',
    { said: 2, rightBefore: 1, rightAfter: 2 },
  ],
  [
    'is heard too often',
    '周董',
    '周董',
    '周董',
    '周董周董',
    { said: 1, rightBefore: 1, rightAfter: 1, falseAfter: 1 },
  ],
])('a phrase %s', (_what, phrase, truth, before, after, figures) => {
  expect(countHotwords([phrase], [{ truth, before, after }])).toEqual({ ...NONE, ...figures });
});

it('the figures are sums over phrases and recordings, and phrases of one normalised form count once', () => {
  const texts = [
    { truth: '周董用GitHub', before: '周东用github', after: '周董用github' },
    { truth: '周董', before: '周董', after: '周东' },
  ];
  const figures = { said: 3, rightBefore: 2, rightAfter: 2, lost: 1, falseAfter: 0 };
  expect(countHotwords(['周董', 'GitHub', 'github'], texts)).toEqual(figures);
});

it('a list that cannot be read, or is not UTF-8, is named', async () => {
  const path = join(testFolder(), 'hotwords.txt');
  const message = `${path} cannot be read (`;
  await expect(readHotwords(path)).rejects.toThrow(message);
  // 热词 in GBK.
  await writeFile(path, Buffer.from([0xc8, 0xc8, 0xb4, 0xca]));
  await expect(readHotwords(path)).rejects.toThrow(message);
  await writeFile(path, '热词\n');
  expect(await readHotwords(path)).toMatchObject({ hotwords: [{ phrase: '热词' }], ignored: {} });
});
