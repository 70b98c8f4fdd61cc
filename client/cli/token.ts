import { readFile } from 'node:fs/promises';
import { messageOf } from '../protocol/errors.ts';
import { UsageError } from './exit-codes.ts';

/** @throws UsageError when there is no token */
export async function readToken(file: string | undefined, environment: NodeJS.ProcessEnv): Promise<string> {
  if (file === undefined) {
    const token = environment['ASR_API_TOKEN']?.trim();
    if (!token) throw new UsageError('no token: set ASR_API_TOKEN or give --token-file FILE');
    return token;
  }
  try {
    const token = (await readFile(file, 'utf8')).trim();
    if (token === '') throw new UsageError(`the token file ${file} is empty`);
    return token;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`the token file cannot be read: ${messageOf(error)}`);
  }
}
