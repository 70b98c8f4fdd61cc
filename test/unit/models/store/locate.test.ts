import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { ModelFailure } from '../../../../models/failure.ts';
import { locateModel, modelFolder } from '../../../../models/store/locate.ts';
import { type ModelFolders, modelFolders, writeReceipt } from '../../../../models/store/store.ts';
import { testFolder } from '../../../support/machine/folders.ts';

describe('ASR_MODEL', () => {
  let root: string;
  let folders: ModelFolders;
  beforeEach(() => {
    root = testFolder();
    folders = modelFolders(root);
  });

  const failure = async (setting: string): Promise<string> => {
    const error: unknown = await locateModel(setting, { folders }).then(
      (found) => found,
      (reason: unknown) => reason,
    );
    if (!(error instanceof ModelFailure))
      throw new Error(`expected a ModelFailure, got ${JSON.stringify(error)}`);
    return error.message;
  };

  it('takes the bundled model by its name', async () => {
    expect(await locateModel('bundled', { folders })).toEqual({
      id: 'bundled',
      folder: join(root, 'models', 'bundled'),
    });
  });

  it('finds the real bundled model without being told where the project lies', async () => {
    const { folder } = await locateModel('bundled');
    expect(folder).toBe(join(packageRoot(), 'models', 'bundled'));
  });

  it('takes an id that is downloaded', async () => {
    const folder = join(folders.downloaded, 'x-asr-480ms');
    await mkdir(folder, { recursive: true });
    await writeReceipt(folder, { url: '', archiveSha256: '', pulledAt: '' });
    expect(await locateModel('x-asr-480ms', { folders })).toEqual({ id: 'x-asr-480ms', folder });
  });

  it.each([
    ['bundled', 'models/bundled'],
    ['x-asr-480ms', 'models/downloaded/x-asr-480ms'],
  ])('says where %s is or should be', (setting, path) => {
    expect(modelFolder(setting)).toBe(join(packageRoot(), path));
    expect(modelFolder(`./${setting}`)).toBe(resolve(setting));
  });

  it('says the command for an id that is not downloaded', async () => {
    expect(await failure('x-asr-960ms')).toBe(
      'the model x-asr-960ms is not downloaded: run `npm run models -- pull x-asr-960ms`',
    );
    await mkdir(join(folders.downloaded, 'x-asr-960ms'), { recursive: true });
    expect(await failure('x-asr-960ms')).toContain('is not downloaded');
  });

  it('says what to do about a damaged receipt', async () => {
    const folder = join(folders.downloaded, 'x-asr-480ms');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'download.json'), '{"id": ');
    expect(await failure('x-asr-480ms')).toMatch(
      /download\.json is damaged: `npm run models -- remove x-asr-480ms`/,
    );
  });

  it('takes a folder, absolute or relative, and keeps the name it was given', async () => {
    const folder = join(root, 'own model');
    await mkdir(folder);
    expect(await locateModel(folder, { folders })).toEqual({ id: folder, folder });
    const short = relative(process.cwd(), folder);
    expect(await locateModel(short, { folders })).toEqual({ id: short, folder });
  });

  it('takes the model for an id, also beside a folder of that name, which ./ names', async () => {
    const before = process.cwd();
    process.chdir(root);
    try {
      await mkdir('x-asr-480ms');
      expect(await failure('x-asr-480ms')).toContain('is not downloaded');
      const folder = join(process.cwd(), 'x-asr-480ms');
      expect(await locateModel('./x-asr-480ms', { folders })).toEqual({ id: './x-asr-480ms', folder });
    } finally {
      process.chdir(before);
    }
  });

  it('lists the ids when a name is neither known nor a folder', async () => {
    const message = await failure('x-asr');
    expect(message).toContain(`ASR_MODEL is "x-asr": there is no folder ${join(process.cwd(), 'x-asr')}`);
    for (const id of ['bundled', 'x-asr-480ms', 'zipformer-multi-zh']) expect(message).toContain(id);
  });

  it('names the id that was probably meant, and how to get it', async () => {
    expect(await failure('x-asr-48Oms')).toMatch(
      /\. Did you mean x-asr-480ms\? If it is not here yet: npm run models -- pull x-asr-480ms$/,
    );
    expect(await failure('bundle')).toMatch(/\. Did you mean bundled\?$/);
    expect(await failure('/srv/models/mine')).not.toContain('Did you mean');
  });

  it('takes what is behind a file for no folder, as what is not there at all', async () => {
    const behind = join(import.meta.filename, 'model');
    expect(await failure(behind)).toContain(`there is no folder ${behind}`);
  });

  it('says why a folder cannot be read', async () => {
    const loop = join(root, 'loop');
    await symlink(loop, loop);
    expect(await failure(loop)).toMatch(/^ASR_MODEL is ".*", and the folder .* cannot be read: ELOOP: /);
  });

  it.skipIf(process.getuid?.() === 0)('says that a folder may not be read', async () => {
    const closed = join(root, 'closed');
    await mkdir(join(closed, 'model'), { recursive: true });
    await chmod(closed, 0o000);
    expect(await failure(join(closed, 'model'))).toContain('cannot be read: EACCES: ');
    await chmod(closed, 0o700);
  });

  it('does not take a file for a folder', async () => {
    const file = join(root, 'model.onnx');
    await writeFile(file, '');
    expect(await failure(file)).toContain(`${file} is not a folder: give the folder that holds`);
  });
});
