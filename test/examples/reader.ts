import { copyFileSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../common/process/package-root.ts';

const root = packageRoot();

/** A fenced block of a page. */
export interface CodeBlock {
  readonly language: string;
  /** From its first line, a comment. */
  readonly file: string | undefined;
  readonly code: string;
}

export function codeBlocks(markdown: string): CodeBlock[] {
  return [...markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', code = '']) => ({
    language,
    file: /^(?:\/\/|#|<!--) ([\w-]+\.\w+)(?:,.*)?(?: -->)?\n/.exec(code)?.[1],
    code,
  }));
}

/**
 * Makes a reader's folder: the examples saved under their names, `recording.wav`, and what `npm install` of
 * client and `ws` would have put there.
 */
export function readersFolder(blocks: readonly CodeBlock[], recording: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'asr-reader-'));
  copyFileSync(recording, join(folder, 'recording.wav'));
  for (const { file, code } of blocks) if (file !== undefined) writeFileSync(join(folder, file), code);
  const installed = join(folder, 'node_modules');
  mkdirSync(join(installed, '.bin'), { recursive: true });
  symlinkSync(join(root, 'node_modules/ws'), join(installed, 'ws'));
  symlinkSync(join(root, 'client'), join(installed, 'chinese-asr-client'));
  symlinkSync('../chinese-asr-client/asr-client.mjs', join(installed, '.bin/asr-client'));
  return folder;
}
