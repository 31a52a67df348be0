import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { root } from './service-settings.ts';

/** A container of a pod. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly ports?: readonly { readonly name: string; readonly containerPort: number; readonly protocol?: string }[];
  readonly env?: readonly EnvironmentVariable[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly resources?: {
    readonly requests?: object;
    readonly limits?: { readonly memory?: string; readonly cpu?: string };
  };
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
}

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
}

/** A variable with a value, or with a reference to one. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean };
    readonly configMapKeyRef?: { readonly name: string; readonly key: string };
    readonly fieldRef?: { readonly fieldPath: string };
  };
}

/** The template of a workload's pods. */
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly automountServiceAccountToken?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly topologySpreadConstraints?: readonly object[];
}

/** A port of a Service. */
interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly targetPort: number | string;
}

/** A rule of an HTTPRoute. */
interface RouteRule {
  readonly matches: readonly { readonly path: { readonly type: string; readonly value: string } }[];
  readonly backendRefs: readonly { readonly name: string; readonly port: number }[];
  readonly timeouts: object;
}

/** The members that the tests read, of all kinds together. */
interface ManifestSpec {
  readonly replicas?: number;
  readonly type?: string;
  readonly externalTrafficPolicy?: string;
  readonly selector?: Readonly<Record<string, string>>;
  readonly ports?: readonly ServicePort[];
  readonly template?: {
    readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
    readonly spec: PodSpec;
  };
  readonly jobTemplate?: { readonly spec: ManifestSpec };
  readonly hostnames?: readonly string[];
  readonly rules?: readonly RouteRule[];
  readonly scaleTargetRef?: { readonly name: string };
  readonly groups?: readonly {
    readonly rules: readonly { readonly expr: string; readonly annotations: { readonly runbook: string } }[];
  }[];
}

/** A Kubernetes object. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: ManifestSpec;
  readonly data?: Readonly<Record<string, string>>;
}

/** Folder of programs that `scripts/kubernetes/validator.mjs` builds. */
const toolsFolder = join(root, '.cache', 'kubernetes', 'bin');
/** Folder of the custom resource definitions of the components. */
export const definitionsFolder = join(root, '.cache', 'kubernetes', 'definitions');

/** Returns the path of a program in the tools' folder or on the PATH; undefined if it is absent. */
export function findTool(name: string): string | undefined {
  const built = join(toolsFolder, name);
  if (existsSync(built)) return built;
  return spawnSync(name, ['--help'], { stdio: 'ignore' }).error === undefined ? name : undefined;
}

/** Returns the command that renders a kustomization; undefined on machines without one. */
export function findRenderer(): readonly [command: string, ...args: string[]] | undefined {
  const kustomize = findTool('kustomize');
  if (kustomize !== undefined) return [kustomize, 'build'];
  const kubectl = findTool('kubectl');
  return kubectl === undefined ? undefined : [kubectl, 'kustomize'];
}

/** Renders a folder of `k8s` to YAML. */
export function render(folder: string, [command, ...args]: readonly [string, ...string[]]): string {
  return execFileSync(command, [...args, join(root, 'k8s', folder)], { encoding: 'utf8', maxBuffer: 1e8 });
}

/** Renders the base with components of `k8s/components`, as an overlay that lists them would. */
export function renderComponents(names: readonly string[], renderer: readonly [string, ...string[]]): Manifest[] {
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'overlay-'));
  try {
    const pathOf = (path: string): string => relative(folder, join(root, 'k8s', path));
    const overlay = { resources: [pathOf('base')], components: names.map((name) => pathOf(`components/${name}`)) };
    writeFileSync(join(folder, 'kustomization.yaml'), stringify(overlay));
    return parseManifests(render(relative(join(root, 'k8s'), folder), renderer));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const parseManifests = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest);

/** Returns the pods' template of a workload or job; undefined for other kinds. */
export function podOf({ kind, spec }: Manifest): PodSpec | undefined {
  if (kind === 'CronJob') return spec.jobTemplate?.spec.template?.spec;
  return ['Deployment', 'StatefulSet', 'Job'].includes(kind) ? spec?.template?.spec : undefined;
}
