import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { textCost } from '../../../../../inference/engine/postprocessing/best-path.ts';
import type { Alternative, Judge } from '../../../../../inference/engine/postprocessing/judge.ts';
import { LanguageCorrector } from '../../../../../inference/engine/postprocessing/language-correction.ts';
import {
  LanguageModel,
  loadLanguageModel,
  readLanguageModel,
} from '../../../../../inference/engine/postprocessing/language-model.ts';
import { Postprocessor } from '../../../../../inference/engine/postprocessing/postprocessor.ts';
import { modelFolders } from '../../../../../models/store/store.ts';
import { fileFolder } from '../../../../support/machine/folders.ts';

const workDir = fileFolder();
const path = join(modelFolders().bundled, 'language', 'chinese.lm.gz');
const model = await readLanguageModel(path);
const corrector = new LanguageCorrector(model);

/** Heard by the bundled model, the likeliest text of this sound, and the log-probabilities of both by KenLM. */
test.each([
  ['设定 29 多', '设定 29 多', -35.34, -35.34],
  ['上海是第一食品商店。', '上海市第一食品商店。', -36.41, -31.3],
  ['三夜眼镜重', '三叶眼镜中', -36.27, -29.36],
  ['究竟日本料理', '究竟日本料理', -25.76, -25.76],
])('%s: %s', (heard, best, heardNats, bestNats) => {
  expect(corrector.proposed(heard, [])).toBe(best);
  expect(-textCost(model, heard)).toBeCloseTo(heardNats, 2);
  expect(-textCost(model, best)).toBeCloseTo(bestNats, 2);
});

test.each(['', '。', 'ChatGPT', '你好，ChatGPT', '谢谢谢谢', '𠮷，今天'])(
  '%j is its own best path',
  (text) => {
    expect(corrector.proposed(text, [])).toBe(text);
  },
);

test('three and more numerals in a row stay', () => {
  // Without this rule the likeliest text is 打一三霸凌.
  expect(corrector.proposed('打一三八零', [])).toContain('一三八零');
  expect(corrector.proposed('打一三八零八五五三三一六', [])).toContain('一三八零八五五三三一六');
});

describe('a reading that the recognizer holds for possible', () => {
  const at = (place: number, ...found: Alternative[]): Alternative[][] =>
    Array.from({ length: 3 }, (_, i) => (i === place ? found : []));

  test('gives words of another sound', () => {
    expect(corrector.proposed('连戒值', [])).not.toBe('临界值');
    expect(corrector.proposed('连戒值', at(0, { character: '林', nats: 0.5 }))).toBe('临界值');
  });

  test('counts the less the less likely it is', () => {
    expect(corrector.proposed('连戒值', at(0, { character: '林', nats: 30 }))).not.toBe('临界值');
  });
});

describe('the recognizer decides', () => {
  const decide = async (text: string, nats: (text: string) => number) => {
    const asked: string[] = [];
    const corrected = await corrector.corrected(text, async (texts) => {
      asked.push(...texts);
      return texts.map((each) => ({ nats: nats(each), alternatives: [] }));
    });
    return { corrected, asked };
  };

  test('against the half of what the language model gains', async () => {
    const gain = 0.5 * (textCost(model, '上海是第一食品商店') - textCost(model, '上海市第一食品商店'));
    const against = (cost: number) => (text: string) => (text.includes('上海市') ? -cost : 0);
    const takes = await decide('上海是第一食品商店', against(gain - 0.01));
    expect(takes.corrected).toBe('上海市第一食品商店');
    expect(takes.asked).toEqual(['上海是第一食品商店', '上海市第一食品商店']);
    const keeps = await decide('上海是第一食品商店', against(gain + 0.01));
    expect(keeps.corrected).toBe('上海是第一食品商店');
  });

  test('on each of several places alone, and on each left out', async () => {
    const text = '上海是第一食品商店，三夜眼镜重';
    const { corrected, asked } = await decide(text, (each) => (each.includes('三叶') ? -100 : 0));
    expect(corrected).toBe('上海市第一食品商店，三夜眼镜中');
    expect(asked).toHaveLength(8);
    expect(new Set(asked)).toHaveLength(8);
  });

  test('on nothing but the own text if that is the likeliest, and not on a text without Chinese', async () => {
    expect(await decide('今天天气很好', () => 0)).toEqual({
      corrected: '今天天气很好',
      asked: ['今天天气很好'],
    });
    expect(await decide('OK.', () => 0)).toEqual({ corrected: 'OK.', asked: [] });
  });
});

test('final texts alone pass it, before the hot words, and only where there is a judge', async () => {
  const indifferent: Judge = async (texts) => texts.map(() => ({ nats: 0, alternatives: [] }));
  const made = new Postprocessor(model);
  const text = '上海是第一食品商店';
  expect(await made.final(text, indifferent)).toBe('上海市第一食品商店');
  expect(await made.final(text, undefined)).toBe(text);
  expect(made.partial(text)).toBe(text);
  expect(await new Postprocessor().final(text, indifferent)).toBe(text);
  await made.use([{ phrase: '上海是', score: 2.5 }]);
  expect(await made.final(text, indifferent)).toBe(text);
});

describe('a file that is none', () => {
  const packed = readFileSync(path);
  const unpacked = gunzipSync(packed);
  const lines: string[] = [];
  const load = async (content: Uint8Array): Promise<LanguageModel | undefined> => {
    const file = join(mkdtempSync(join(workDir, 'lm-')), 'chinese.lm.gz');
    writeFileSync(file, content);
    lines.length = 0;
    return loadLanguageModel((line) => lines.push(line), file);
  };

  test.each([
    ['nothing', new Uint8Array(0)],
    ['half of it', packed.subarray(0, packed.length / 2)],
    ['a text', Buffer.from('一句话')],
    ['a packed text', gzipSync('一句话'.repeat(100))],
    [
      'another version',
      gzipSync(Buffer.concat([unpacked.subarray(0, 4), Buffer.of(2), unpacked.subarray(5)])),
    ],
    ['one byte too many', gzipSync(Buffer.concat([unpacked, Buffer.of(0)]), { level: 1 })],
  ])('%s: one line, and no model', async (_what, content) => {
    expect(await load(content)).toBeUndefined();
    expect(lines).toEqual([
      expect.stringMatching(/chinese\.lm\.gz: .*; texts stay as the recognizer gives them/),
    ]);
    expect(lines[0]).not.toContain('\n');
  });

  test('is missing: one line that names it', async () => {
    lines.length = 0;
    expect(await loadLanguageModel((line) => lines.push(line), join(workDir, 'none'))).toBeUndefined();
    expect(lines).toEqual([expect.stringMatching(/none: .*ENOENT/)]);
  });

  test('a changed byte never ends in another model', async () => {
    const bytes = fc.tuple(fc.integer({ min: 10, max: packed.length - 1 }), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(bytes, async ([place, change]) => {
        const other = Buffer.from(packed);
        other[place] = (other[place] ?? 0) ^ change;
        // DEFLATE has bits that mean nothing: with bit 3 of byte 1,504,011 changed, it unpacks to the same model.
        const isSame = (await load(other)) !== undefined;
        if (isSame) expect(gunzipSync(other).equals(unpacked)).toBe(true);
        else expect(lines).toHaveLength(1);
      }),
      { numRuns: 20, examples: [[[1_504_011, 8]]] },
    );
  }, 60_000);

  test('whatever numbers and bytes it has, it is read or refused', () => {
    const header = fc.array(fc.oneof(fc.nat(40), fc.nat(2 ** 31)), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(header, fc.uint8Array({ maxLength: 400 }), (counts, rest) => {
        const head = Buffer.from(unpacked.subarray(0, 32));
        for (const [i, count] of counts.entries()) head.writeUInt32LE(count, 8 + 4 * i);
        const read = () => new LanguageModel(new Uint8Array([...head, ...rest]));
        let small: LanguageModel;
        try {
          small = read();
        } catch (error) {
          expect(String(error)).toContain('it is no language model');
          return;
        }
        expect(new LanguageCorrector(small).proposed('今天', [])).toHaveLength(2);
      }),
      { numRuns: 2_000 },
    );
  });
});
