import { readFile } from 'node:fs/promises';
import { messageOf } from '../../common/errors/errors.ts';
import { UsageError } from './exit-codes.ts';

/** @throws UsageError when there is no token */
export async function readToken(file: string | undefined, environment: NodeJS.ProcessEnv): Promise<string> {
  const given = file === undefined ? environment['ASR_API_TOKEN'] : await contentOf(file);
  const token = given?.trim();
  if (token && /^(["']).*\1$/.test(token))
    throw new UsageError(
      'the token stands in quotes, which belong to the file or setting: write it without them',
    );
  if (token) return token;
  throw new UsageError(
    file === undefined
      ? 'no token: set ASR_API_TOKEN or give --token-file FILE'
      : `the token file ${file} is empty`,
  );
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`the token file cannot be read: ${messageOf(error)}`);
  }
}
