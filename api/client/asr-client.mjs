#!/usr/bin/env node
// The package's bin. The compiler writes files that cannot be executed, so in a clone `npx asr-client` needs this one.
import { existsSync } from 'node:fs';

const program = new URL('../../dist/api/client/cli.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  console.error('asr-client: this clone is not built yet: npm ci && npm run build');
  process.exitCode = 2;
}
