import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { textCost } from '../../../inference/engine/postprocessing/best-path.ts';
import { readLanguageModel } from '../../../inference/engine/postprocessing/language-model.ts';
import { modelFolders } from '../../../models/store/store.ts';
import { fileFolder } from '../../support/machine/folders.ts';

const workDir = fileFolder();
const run = promisify(execFile);
const folder = join(modelFolders().bundled, 'language');
const hasPython = await run('python3', ['--version']).then(
  () => true,
  () => false,
);

describe.skipIf(!hasPython)('pack.py', () => {
  const script = join(folder, 'pack.py');
  const ARPA = `\\data\\
ngram 1=7

\\1-grams:
-99\t<s>\t0
-99\t</s>
-5\t<unk>\t0
-2\t你\t-0.51
-2.3\t好\t-0.25
-1.01\t你好\t-0.5
-3\t會\t-0.1
-3\t无音\t-0.1

\\2-grams:
-0.5\t你 好\t-0.1
-0.75\t你好 你\t-0.1
-0.75\t你 會\t-0.1

\\3-grams:
-0.1\t你 好 你

\\end\\
`;
  const DICTIONARY = "你\tni\t0\n好\thao\t-0.1\n好\thong\t-3\n你好\tni'hao\t0\n會\thui\t0\n";

  async function pack(arpa: string, dictionary: string, name: string): Promise<string> {
    writeFileSync(join(workDir, 'small.arpa'), arpa);
    writeFileSync(join(workDir, 'small.txt'), dictionary);
    const out = join(workDir, name);
    const inputs = [join(workDir, 'small.arpa'), join(workDir, 'small.txt'), join(folder, '..', 't2s.tsv')];
    await run('python3', [script, ...inputs, out]);
    return out;
  }

  test('leaves out trigrams, traditional words, words without a reading and rare readings', async () => {
    const packed = await pack(ARPA, DICTIONARY, 'small.lm.gz');
    const [arpa, dictionary] = [join(workDir, 'back.arpa'), join(workDir, 'back.txt')];
    await run('python3', [script, '--text', packed, arpa, dictionary]);
    expect(readFileSync(dictionary, 'utf8')).toBe("好\thao\n你\tni\n你好\tni'hao\n");
    expect(readFileSync(arpa, 'utf8').split('\n').slice(4)).toEqual([
      '\\1-grams:',
      '-99\t<s>\t0',
      '-99\t</s>',
      '-1\t你好\t-0.5',
      '-2\t你\t-0.5',
      '-2.3125\t好\t-0.25',
      '-5\t<unk>\t0',
      '',
      '\\2-grams:',
      '-0.75\t你好 你',
      '-0.5\t你 好',
      '',
      '\\end\\',
      '',
    ]);
    const again = await pack(readFileSync(arpa, 'utf8'), readFileSync(dictionary, 'utf8'), 'again.lm.gz');
    expect(readFileSync(again)).toEqual(readFileSync(packed));
  });

  test('and the service reads what it wrote', async () => {
    const small = await readLanguageModel(await pack(ARPA, DICTIONARY, 'read.lm.gz'));
    const [together, one, behind] = [
      textCost(small, '你好'),
      textCost(small, '你'),
      textCost(small, '你好你'),
    ];
    expect(together / Math.LN10).toBeCloseTo(1, 6);
    expect(one / Math.LN10).toBeCloseTo(2, 6);
    expect(behind / Math.LN10).toBeCloseTo(1.75, 6);
    expect(textCost(small, '它') / Math.LN10, 'in no list').toBeCloseTo(5, 6);
    expect(textCost(small, 'A'), 'no Chinese').toBe(9);
  });
});
