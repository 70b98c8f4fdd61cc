import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { nearest } from '../../common/config/nearest.ts';
import { CATALOGUE, type CatalogueEntry, findEntry } from '../catalogue.ts';
import { describeCause, ModelFailure } from '../failure.ts';
import { isMissing, type ModelFolders, modelFolders, notDownloaded, readReceipt } from './store.ts';

export interface LocatedModel {
  /** Catalogue id, `bundled`, or the folder as it was configured: what `ModelInfo.id` shows. */
  readonly id: string;
  /** Absolute path of the folder with `*.onnx` and `tokens.txt`. */
  readonly folder: string;
}

export interface LocateOptions {
  readonly folders?: ModelFolders;
  readonly catalogue?: readonly CatalogueEntry[];
}

/** Where the files of the model that `ASR_MODEL` names are, or should be. */
export function modelFolder(
  setting: string,
  { folders = modelFolders(), catalogue = CATALOGUE }: LocateOptions = {},
): string {
  if (setting === 'bundled') return folders.bundled;
  const entry = findEntry(setting, catalogue);
  return entry === undefined ? resolve(setting) : join(folders.downloaded, entry.id);
}

/**
 * Finds the model that `ASR_MODEL` names: `bundled`, an id of the catalogue, or a folder (relative to the
 * working directory). An id wins over a folder of that name; `./name` is always the folder.
 * @throws ModelFailure when there is no such model; for an id that is not downloaded it says the command that
 * downloads it.
 */
export async function locateModel(setting: string, options: LocateOptions = {}): Promise<LocatedModel> {
  const folders = options.folders ?? modelFolders();
  const catalogue = options.catalogue ?? CATALOGUE;
  const folder = modelFolder(setting, { folders, catalogue });
  if (setting === 'bundled') return { id: setting, folder };

  const entry = findEntry(setting, catalogue);
  if (entry !== undefined) {
    if ((await readReceipt(folders, entry.id)) === undefined) throw notDownloaded(entry.id);
    return { id: entry.id, folder };
  }

  const found = await stat(folder).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw new ModelFailure(
      `ASR_MODEL is "${setting}", and the folder ${folder} cannot be read: ${describeCause(error)}`,
      { cause: error },
    );
  });
  if (found?.isDirectory()) return { id: setting, folder };
  const ids = ['bundled', ...catalogue.map((known) => known.id)].join(', ');
  if (found !== undefined) {
    throw new ModelFailure(
      `ASR_MODEL is "${setting}", and ${folder} is not a folder: give the folder that holds the model's .onnx files and tokens.txt, or one of ${ids}`,
    );
  }
  const meant = nearest(setting, ['bundled', ...catalogue.map(({ id }) => id)]);
  const pull = meant === 'bundled' ? '' : ` If it is not here yet: npm run models -- pull ${meant}`;
  const hint = meant === undefined ? '' : `. Did you mean ${meant}?${pull}`;
  throw new ModelFailure(
    `ASR_MODEL is "${setting}": there is no folder ${folder}, and the models known by name are ${ids}${hint}`,
  );
}
