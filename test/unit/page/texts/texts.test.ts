import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { kindOfFile } from '../../../../common/audio/file-kinds.ts';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { Failure } from '../../../../page/service/failures.ts';
import { textsFor } from '../../../../page/texts/language.ts';
import type { Texts } from '../../../../page/texts/texts.ts';
import { english } from '../../../../page/texts/texts-en.ts';
import { chinese } from '../../../../page/texts/texts-zh.ts';
import { adviceOn } from '../../../../page/view/advice.ts';

const html = readFileSync(join(packageRoot(), 'page', 'index.html'), 'utf8');

it('every word of the page has its Chinese, and no Chinese word has lost its place', () => {
  const keys = new Set([...html.matchAll(/data-text="(\w+)"/g)].map(([, key]) => key));
  expect(Object.keys(chinese.labels ?? {}).sort()).toEqual([...keys].sort());
  expect(html).not.toMatch(/data-text="\w+"[^>]*></);
});

/** What a language says of every failure, to somebody with a file and to somebody without. */
const all = (texts: Texts): (readonly [what: string, todo: string])[] =>
  Object.values(texts.failures).map((advice) =>
    typeof advice === 'function' ? advice('a.wav', {}) : advice,
  );

it('both languages say something different about every failure', () => {
  for (const texts of [english, chinese]) {
    const whats = all(texts).map(([what]) => what);
    expect(new Set(whats).size).toBe(whats.length);
    for (const [what, todo] of all(texts)) {
      expect(what).not.toBe('');
      expect(todo).not.toBe('');
    }
  }
  for (const [what, todo] of all(english)) expect(what + todo).toMatch(/^[\x20-\x7e’]+$/);
  for (const [what, todo] of all(chinese)) expect(what + todo).toMatch(/\p{Script=Han}/u);
});

it.each([
  // Never less than it is, or it would be "60 minutes long; the limit is 60 minutes".
  [
    'file_too_long',
    { lengthMs: 3_600_001 },
    'is 61 minutes long; the limit is 60 minutes',
    ' 长 61 分钟，最长 60 分钟',
  ],
  ['file_too_long', {}, 'is too long; the limit is 60 minutes', ' 太长，最长 60 分钟'],
  [
    'file_too_long_to_decode',
    { lengthMs: 2_700_000 },
    'is 45 minutes long; the limit for all but WAV is 20 minutes',
    ' 长 45 分钟；WAV 以外的文件最长 20 分钟',
  ],
  [
    'file_too_large',
    { bytes: 100_000_001 },
    'has 101 MB; the limit for all but WAV is 100 MB',
    ' 大小为 101 MB；WAV 以外的文件最大 100 MB',
  ],
  ['file_unreadable', { format: 'AMR' }, 'is AMR.', ' 是 AMR 录音，浏览器无法读取'],
] as const)('%s with %j is said with its figures', (kind, facts, inEnglish, inChinese) => {
  for (const [texts, words] of [
    [english, inEnglish],
    [chinese, inChinese],
  ] as const) {
    const [what] = adviceOn(texts, new Failure(kind, '', facts), 'a.wav');
    expect(what).toContain(`a.wav${texts === english ? ' ' : ''}${words}`);
  }
});

it('every kind of file is named in Chinese', () => {
  const starts = ['#!AMR', '#!SILK', 'caff', 'ID3', '\x1aE\xdf\xa3', 'OggS', 'fLaC', '0000ftyp', 'UklG'];
  for (const start of starts) {
    const format = kindOfFile(Buffer.from(start, 'latin1'))?.name;
    expect(format, start).toBeDefined();
    const [what, todo] = adviceOn(chinese, new Failure('file_unreadable', '', { format }), '甲');
    expect(what + todo.replace(/ffmpeg .*/, ''), start).not.toMatch(/ (or|with|a|text|first) /);
  }
});

it('what went wrong with a recording of the microphone names no file', () => {
  expect(adviceOn(chinese, new Failure('file_too_long'))[0]).toBe('这段录音太长，最长 60 分钟。');
  expect(adviceOn(english, new Failure('busy'))[0]).toBe('The service is busy with another recording.');
  expect(adviceOn(chinese, new Failure('busy'), '甲.wav')[0]).toBe('甲.wav：服务正在识别另一段录音。');
});

it.each([
  ['bundled', 'whisper', 'Bundled model (Whisper base)', '自带模型（Whisper base）'],
  ['sense-voice', 'sense-voice', 'Model sense-voice (sense-voice)', '模型 sense-voice（sense-voice）'],
  ['other', undefined, 'Model other', '模型 other'],
])('the model %s (%s) has its line', (id, family, inEnglish, inChinese) => {
  expect([english.model(id, family), chinese.model(id, family)]).toEqual([inEnglish, inChinese]);
});

it.each([
  [['zh-CN', 'en'], 'zh-CN'],
  [['zh-TW'], 'zh-CN'],
  [['ZH'], 'zh-CN'],
  [['en-GB', 'zh-CN'], 'en'],
  [['fr'], 'en'],
  [[], 'en'],
])('%j reads %s', (languages, lang) => {
  expect(textsFor(languages).lang).toBe(lang);
});

it.each([
  [0, '0.0 s', '0.0 秒'],
  [3_140, '3.1 s', '3.1 秒'],
  [15_000, '15.0 s', '15.0 秒'],
  [501_000, '8:21', '8:21'],
])('%i ms are %s and %s', (ms, inEnglish, inChinese) => {
  expect([english.seconds(ms), chinese.seconds(ms)]).toEqual([inEnglish, inChinese]);
});
