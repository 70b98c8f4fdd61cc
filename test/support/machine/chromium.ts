import { existsSync } from 'node:fs';

/** The browser that `npm test` has found, or without that Debian's. */
export function chromiumPath(): string {
  const shell = '/usr/bin/chromium-headless-shell';
  return process.env['CHROMIUM_PATH'] ?? (existsSync(shell) ? shell : '/usr/bin/chromium');
}
