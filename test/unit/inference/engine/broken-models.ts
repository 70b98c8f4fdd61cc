import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { ExecutionProviders } from '../../../../common/config/config.ts';
import { loadModel } from '../../../../inference/engine/families/load-model.ts';
import { ModelLoadError } from '../../../../inference/recognizer.ts';
import { CHINESE_SYMBOLS, type SmallModel, writeSmallModel } from '../../../onnx/model-folder.ts';
import { testFolder } from '../../../support/machine/folders.ts';

/** Of 45 symbols. */
export const SMALL = {
  features: 'kaldi',
  int8: false,
  chunkFrames: 16,
  symbols: CHINESE_SYMBOLS,
  seed: 5,
} as const;

/** A folder with a small model that loads, as far as `change` leaves it so. It is gone when the test has ended. */
export function smallModel(family: SmallModel['family'], change: (path: string) => void = () => {}): string {
  const path = testFolder();
  writeSmallModel(path, { ...SMALL, family });
  change(path);
  return path;
}

/** @returns what the refusal to load this folder says, in one line */
export async function loadError(path: string, providers: ExecutionProviders = ['cpu']): Promise<string> {
  const error: unknown = await loadModel(path, {
    providers,
    threads: 1,
    log: () => {},
  }).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ModelLoadError);
  const { message } = error as Error;
  expect(message).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u);
  return message;
}

/** What the refusals to load these folders say, by what is wrong with each. FOLDER is its own path. */
export async function refusals(folders: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const said: Record<string, string> = {};
  for (const [what, folder] of Object.entries(folders))
    said[what] = (await loadError(folder)).replaceAll(folder, 'FOLDER');
  return said;
}

/** Replaces text in a file's bytes by text of the same length. */
export function patch(path: string, from: string, to: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(from);
  expect(at).toBeGreaterThan(0);
  expect(to).toHaveLength(from.length);
  bytes.write(to, at);
  writeFileSync(path, bytes);
}
