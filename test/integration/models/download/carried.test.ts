import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { RELEASE_URL } from '../../../../models/catalogue.ts';
import { ModelFailure } from '../../../../models/failure.ts';
import { testFolder } from '../../../support/machine/folders.ts';
import { SMALL_CLI, start } from '../command/command-line.ts';
import { ARCHIVE, OTHER, sha256, TOP } from '../small-model.ts';
import { expectWhole, setUpPull } from './pulling.ts';

const NAME = `${TOP}.tar.bz2`;

describe('pulling from an archive that was carried here', () => {
  /** `stick` is a folder with the archive, as it was carried. */
  async function setUp(carried = ARCHIVE) {
    const pulling = await setUpPull();
    const stick = testFolder();
    const file = join(stick, NAME);
    await writeFile(file, carried);
    const take = (from: string) => pulling.pull({ env: { ASR_MODEL_MIRROR: 'no address' } }, undefined, from);
    const refusal = async (from: string): Promise<string> => {
      const outcome: unknown = await take(from).catch((error: unknown) => error);
      if (!(outcome instanceof ModelFailure)) throw new Error('expected a ModelFailure', { cause: outcome });
      // Nothing is begun: not even the folder is made.
      expect(existsSync(pulling.folders.downloaded)).toBe(false);
      return outcome.message;
    };
    return { ...pulling, stick, file, take, refusal };
  }

  it.each([
    ['the file', NAME, ''],
    ['the file under another name', 'carried', 'carried'],
    ['the folder that has it', NAME, '.'],
  ])('takes %s, asks no server, and leaves it as it is', async (_, name, from) => {
    const { server, stick, folders, paths, take } = await setUp();
    if (name !== NAME) await writeFile(join(stick, name), ARCHIVE);
    expect(await take(join(stick, from === '' ? name : from))).toBe('pulled');
    await expectWhole(folders);
    const carried = join(stick, name);
    expect(ARCHIVE.equals(await readFile(carried))).toBe(true);
    expect(JSON.parse(await readFile(paths.receipt, 'utf8'))).toMatchObject({
      url: pathToFileURL(carried).href,
      archiveSha256: sha256(ARCHIVE),
    });
    expect(await take(carried)).toBe('already there');
    expect(server.requests).toEqual([]);
  });

  it('clears what a broken download has left', async () => {
    const { folders, paths, file, take } = await setUp();
    await mkdir(folders.downloaded);
    await writeFile(paths.part, ARCHIVE.subarray(0, 50_000));
    await take(file);
    await expectWhole(folders);
  });

  it('says what is wrong with another archive, and what to do', async () => {
    const { file, stick, refusal } = await setUp(OTHER);
    const expected = `${file}: ${OTHER.length} bytes with sha256 ${sha256(OTHER)}, expected ${ARCHIVE.length} bytes with ${sha256(ARCHIVE)}. It is another file, or was damaged on its way: carry ${RELEASE_URL}/${NAME} here anew and run the same command again`;
    expect(await refusal(file)).toBe(expected);
    expect(await refusal(stick)).toBe(expected);
    expect(OTHER.equals(await readFile(file))).toBe(true);
  });

  it('says what it looks for where there is none', async () => {
    const { stick, file, refusal } = await setUp();
    const nowhere = join(stick, 'nowhere');
    expect(await refusal(nowhere)).toBe(
      `there is no ${nowhere}: give --from the path of ${NAME}, or of the folder that has it`,
    );
    await rm(file);
    await writeFile(join(stick, 'model.onnx'), '');
    expect(await refusal(stick)).toBe(
      `the folder ${stick} does not have ${NAME}: carry ${RELEASE_URL}/${NAME} there. A folder with an unpacked model needs no pull: ASR_MODEL=${stick} npm start`,
    );
  });

  it('is what the error of a failed pull says', async () => {
    const { server, stick, folders, entry, paths } = await setUp();
    server.script.push(server.status(403));
    const settings = JSON.stringify({ root: dirname(dirname(folders.downloaded)), catalogue: [entry] });
    const run = (args: readonly string[]) =>
      start(SMALL_CLI, [settings, ...args], { ASR_MODEL_MIRROR: server.url }, stick).finished;
    const { stderr } = await run(['pull', 'small']);
    const command = /without internet, carry this file here and run: npm run models -- (.*)\n$/.exec(stderr);
    expect(command?.[1]).toBe(`pull small --from ${NAME}`);
    const args = command?.[1]?.split(' ') ?? [];
    expect(await run(args)).toMatchObject({
      code: 0,
      stdout: `small is in ${paths.model}. Use it: ASR_MODEL=small npm start\n`,
    });
    expect(await readdir(stick)).toEqual([NAME]);
  });
});
