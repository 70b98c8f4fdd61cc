import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { packageRoot } from '../../common/process/package-root.ts';

const run = promisify(execFile);
const DEPLOY = join(packageRoot(), 'deploy');
const PACKAGES = join(packageRoot(), '.cache/kubernetes-validate-1.37.0');

/** The oldest and the newest Kubernetes that the validator knows. */
export const VERSIONS = ['1.30.0', '1.37.0'];
export const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

export interface Probe {
  readonly exec?: { readonly command: readonly [string, ...string[]] };
  readonly httpGet?: { readonly path: string; readonly port: string };
}
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

/** @param file below deploy/ */
export const read = (file: string): string => readFileSync(join(DEPLOY, file), 'utf8');

/** The containers of the Deployment that a file begins with. */
export function containersOf(file: string): Container[] {
  const [deployment] = parseAllDocuments(read(file), { merge: true });
  return deployment?.toJS().spec.template.spec.containers;
}

/** Fetches the validator once. */
export async function installValidator(): Promise<void> {
  if (!existsSync(PACKAGES))
    await run('python3', ['-m', 'pip', 'install', '--target', PACKAGES, 'kubernetes-validate==1.37.0']);
}

/** @param files below deploy/, or whole paths. @returns what the validator says of them */
export async function validate(version: string, files: readonly string[]): Promise<string> {
  const args = ['-m', 'kubernetes_validate', '--strict', '--kubernetes-version', version, ...files];
  const env = { ...process.env, PYTHONPATH: PACKAGES };
  const { stdout, stderr } = await run('python3', args, { cwd: DEPLOY, env });
  return stdout + stderr;
}

/** What kubectl would apply. */
export async function kustomize(folder: string): Promise<string> {
  return (await run('kubectl', ['kustomize', join(DEPLOY, folder)])).stdout;
}
