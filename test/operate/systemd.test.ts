import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { EXIT_CONFIG } from '../../common/config/config-error.ts';
import { packageRoot } from '../../common/process/package-root.ts';
import { temporaryFolder } from '../support/tool.ts';

const analyze = spawnSync('systemd-analyze', ['--version']).status === 0;
const folder = temporaryFolder();
afterAll(() => folder.remove());

// systemd itself does not run in a container or a CI job: the units are read by it, and were not started by it.
test.skipIf(!analyze).each(['asr-api.service', 'asr-inference.service'])(
  'systemd finds nothing in %s',
  (name) => {
    const unit = readFileSync(join(packageRoot(), 'deploy/systemd', name), 'utf8');
    const file = join(folder.path, name);
    writeFileSync(file, unit.replace('/usr/bin/node', process.execPath));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [, program = ''] = /^ExecStart=\/usr\/bin\/node (\S+)$/m.exec(unit) ?? [];
    expect(existsSync(join(packageRoot(), program))).toBe(true);
    expect(unit).toContain(`RestartPreventExitStatus=${EXIT_CONFIG}\n`);
  },
);
