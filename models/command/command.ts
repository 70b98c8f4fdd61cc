import { EXIT_USAGE } from '../../common/config/config-error.ts';
import { unknownNameLines } from '../../common/config/known-names.ts';
import { nearest } from '../../common/config/nearest.ts';
import { type CatalogueEntry, findEntry } from '../catalogue.ts';
import type { NetworkSettings } from '../download/archive.ts';
import type { Screen } from '../download/report.ts';
import { fromDiskError, ModelFailure } from '../failure.ts';
import { BUNDLED } from '../model-card.ts';
import { locateModel } from '../store/locate.ts';
import { acquireLock } from '../store/lock.ts';
import { isThere, type ModelFolders, readReceipt, removeModel, sizeOf, storePaths } from '../store/store.ts';
import { type ModelRequest, parseArguments, type Request, USAGE } from './arguments.ts';
import { modelList } from './listing.ts';

export interface ModelsContext {
  readonly catalogue: readonly CatalogueEntry[];
  readonly folders: ModelFolders;
  readonly network: NetworkSettings;
  /** The answer, for a script to read. */
  print(line: string): void;
  /** Progress and errors, for a person. */
  readonly screen: Screen;
  readonly signal: AbortSignal;
}

/** @returns the process's exit code: 0 done, 1 it could not be done, 64 the command is wrong */
export async function runCommand(argv: readonly string[], context: ModelsContext): Promise<number> {
  for (const line of unknownNameLines(context.network.env)) context.screen.write(`${line}\n`);
  try {
    return await carryOut(parseArguments(argv), context);
  } catch (error) {
    const failure = fromDiskError(error, context.folders.downloaded);
    if (!(failure instanceof ModelFailure)) throw error;
    context.screen.write(`${failure.message}\n`);
    return 1;
  }
}

async function carryOut(request: Request, context: ModelsContext): Promise<number> {
  switch (request.command) {
    case 'help':
      context.print(USAGE);
      return 0;
    case 'wrong':
      context.screen.write(`${request.reason}\n\n${USAGE}\n`);
      return EXIT_USAGE;
    case 'list':
      await list(context);
      return 0;
    default:
      return withModel(request, context);
  }
}

async function withModel({ command, id, from }: ModelRequest, context: ModelsContext): Promise<number> {
  const { catalogue, folders, print, screen } = context;
  const entry = findEntry(id, catalogue);
  if (id === BUNDLED.id && command === 'path') print(folders.bundled);
  else if (id === BUNDLED.id) {
    screen.write(`the bundled model comes with the server: there is nothing to ${command}\n`);
    return EXIT_USAGE;
  } else if (entry === undefined) {
    const ids = catalogue.map((known) => known.id);
    const meant = nearest(id, ids);
    const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`;
    screen.write(`there is no model "${id}"${hint}; there are: ${ids.join(', ')}\n`);
    return EXIT_USAGE;
  } else if (command === 'path') print((await locateModel(id, { folders, catalogue })).folder);
  else if (command === 'remove') await remove(context, id);
  else await pull(context, entry, from);
  return 0;
}

async function list({ catalogue, folders, print }: ModelsContext): Promise<void> {
  const downloads = await Promise.all(
    catalogue.map(async (entry) => ({
      card: entry,
      bytes: entry.archiveBytes,
      state: await stateOf(folders, entry),
    })),
  );
  print(modelList([{ card: BUNDLED, bytes: BUNDLED.bytes, state: 'here' }, ...downloads]));
  print(
    '\nError rates are of characters, as published there; only the bundled model was measured here.\n' +
      'To get a model: npm run models -- pull <id>; to use it: ASR_MODEL=<id> npm start',
  );
}

async function stateOf(folders: ModelFolders, entry: CatalogueEntry): Promise<string> {
  const receipt = await readReceipt(folders, entry.id);
  if (receipt !== undefined) return receipt.archiveSha256 === entry.archiveSha256 ? 'here' : 'an older one';
  const bytes = await sizeOf(storePaths(folders, entry.id).part);
  return bytes === 0 ? 'not here' : `${Math.floor((bytes / entry.archiveBytes) * 100)} % downloaded`;
}

async function pull(context: ModelsContext, entry: CatalogueEntry, from: string | undefined): Promise<void> {
  const { folders, network, screen, signal, print } = context;
  // Loaded here, because the network and archive packages would double the time of every other command.
  const { pullModel } = await import('../download/pull.ts');
  const outcome = await pullModel({ entry, from, folders, network, screen, signal });
  const { model } = storePaths(folders, entry.id);
  print(
    outcome === 'pulled'
      ? `${entry.id} is in ${model}. Use it: ASR_MODEL=${entry.id} npm start`
      : `${entry.id} is in ${model} already. To download it again: npm run models -- remove ${entry.id}, then pull`,
  );
}

async function remove({ folders, print }: ModelsContext, id: string): Promise<void> {
  const nothing = `${id} is not here: nothing to remove`;
  if (!(await isThere(folders.downloaded))) return print(nothing);
  const release = await acquireLock(storePaths(folders, id).lock);
  try {
    print((await removeModel(folders, id)) ? `${id} is removed` : nothing);
  } finally {
    release();
  }
}
