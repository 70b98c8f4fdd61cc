import { resolve } from 'node:path';
import { type CatalogueEntry, findEntry } from '../catalogue.ts';
import type { NetworkSettings } from '../download/archive.ts';
import type { ProgressOutput } from '../download/report.ts';
import { fromDiskError, ModelFailure } from '../failure.ts';
import { BUNDLED } from '../model-card.ts';
import { locateModel } from '../store/locate.ts';
import { acquireLock } from '../store/lock.ts';
import {
  type ModelFolders,
  readReceipt,
  removeModel,
  sizeOf,
  statIfThere,
  storePaths,
  verifyModel,
} from '../store/store.ts';
import { parseArguments, type Request, USAGE } from './arguments.ts';
import { modelList } from './listing.ts';

export interface CommandContext {
  readonly catalogue: readonly CatalogueEntry[];
  readonly folders: ModelFolders;
  readonly network: NetworkSettings;
  /** The answer, for a script to read. */
  print(line: string): void;
  /** Progress and errors, for a person. */
  readonly screen: ProgressOutput;
  readonly signal: AbortSignal;
}

/** @returns the process's exit code: 0 done, 1 it could not be done, 2 the command is wrong. */
export async function runCommand(argv: readonly string[], context: CommandContext): Promise<0 | 1 | 2> {
  const request = parseArguments(argv);
  switch (request.command) {
    case 'help':
      context.print(USAGE);
      return 0;
    case 'wrong':
      context.screen.write(`${request.reason}\n\n${USAGE}\n`);
      return 2;
    default:
      return carryOut(request, context);
  }
}

async function carryOut(
  request: Exclude<Request, { command: 'help' | 'wrong' }>,
  context: CommandContext,
): Promise<0 | 1 | 2> {
  try {
    if (request.command === 'list') return await list(context);
    const { command, id, from } = request;
    if (id === BUNDLED.id) {
      if (command === 'path') return await path(context, id);
      context.screen.write(`the bundled model comes with the server: there is nothing to ${command}\n`);
      return 2;
    }
    const entry = findEntry(id, context.catalogue);
    if (entry === undefined) {
      context.screen.write(
        `there is no model "${id}"; there are: ${context.catalogue.map((known) => known.id).join(', ')}\n`,
      );
      return 2;
    }
    switch (command) {
      case 'pull':
        return await pull(context, entry, from);
      case 'verify':
        return await verify(context, entry);
      case 'remove':
        return await remove(context, entry);
      case 'path':
        return await path(context, entry.id);
      default:
        return command satisfies never;
    }
  } catch (error) {
    const failure = fromDiskError(error, context.folders.downloaded);
    if (!(failure instanceof ModelFailure)) throw error;
    context.screen.write(`${failure.message}\n`);
    return 1;
  }
}

async function list(context: CommandContext): Promise<0> {
  const downloads = await Promise.all(
    context.catalogue.map(async (entry) => ({
      card: entry,
      bytes: entry.archiveBytes,
      state: await stateOf(context, entry),
    })),
  );
  context.print(modelList([{ card: BUNDLED, bytes: BUNDLED.bytes, state: 'here' }, ...downloads]));
  context.print(
    '\nError rates are of characters, as published there; only the bundled model was measured here.\n' +
      'To get a model: npm run models -- pull <id>; to use it: ASR_MODEL=<id> npm start',
  );
  return 0;
}

async function stateOf({ folders }: CommandContext, entry: CatalogueEntry): Promise<string> {
  const receipt = await readReceipt(folders, entry.id);
  if (receipt !== undefined) return receipt.archiveSha256 === entry.archiveSha256 ? 'here' : 'an older one';
  const bytes = await sizeOf(storePaths(folders, entry.id).part);
  return bytes === 0 ? 'not here' : `${Math.floor((bytes / entry.archiveBytes) * 100)} % downloaded`;
}

async function pull(context: CommandContext, entry: CatalogueEntry, from: string | undefined): Promise<0> {
  const { folders, network, screen, signal } = context;
  // Loaded here, because the network and archive packages would double the time of every other command.
  const { pullModel } = await import('../download/pull.ts');
  const outcome = await pullModel({ entry, from, folders, network, output: screen, signal });
  const folder = resolve(folders.downloaded, entry.id);
  context.print(
    outcome === 'pulled'
      ? `${entry.id} is in ${folder}. Use it: ASR_MODEL=${entry.id} npm start`
      : `${entry.id} is in ${folder} already. To read it again: npm run models -- verify ${entry.id}`,
  );
  return 0;
}

async function verify(context: CommandContext, entry: CatalogueEntry): Promise<0 | 1> {
  const problems = await verifyModel(context.folders, entry, context.signal);
  if (problems.length === 0) {
    context.print(`${entry.id} is as it was downloaded`);
    return 0;
  }
  for (const problem of problems) context.screen.write(`${entry.id}: ${problem}\n`);
  context.screen.write(
    `Get it anew: npm run models -- remove ${entry.id}, then npm run models -- pull ${entry.id}\n`,
  );
  return 1;
}

async function remove({ folders, print }: CommandContext, entry: CatalogueEntry): Promise<0> {
  const nothing = `${entry.id} is not here: nothing to remove`;
  if ((await statIfThere(folders.downloaded)) === undefined) {
    print(nothing);
    return 0;
  }
  const release = await acquireLock(storePaths(folders, entry.id).lock);
  try {
    print((await removeModel(folders, entry.id)) ? `${entry.id} is removed` : nothing);
    return 0;
  } finally {
    await release();
  }
}

async function path({ folders, catalogue, print }: CommandContext, id: string): Promise<0> {
  print((await locateModel(id, { folders, catalogue })).folder);
  return 0;
}
