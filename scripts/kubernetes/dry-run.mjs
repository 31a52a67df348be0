// Both overlays, and broken copies of them, are given to a real API server as a dry run.
import { join } from 'node:path';
import { root } from '../steps.mjs';
import { installDefinitions, requireKubectl } from './control-plane.mjs';

const overlays = ['dev', 'prod'];
const restricted = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);

/** A change of the rendered manifests, and what the API server says about it. */
const faults = [
  {
    title: 'a misspelled field of a probe',
    break: (manifests) => manifests.replace('failureThreshold:', 'failureTreshold:'),
    message: /not declared in schema/,
  },
  {
    title: 'a disruption budget with both limits',
    break: (manifests) =>
      manifests.replace(/^( +)maxUnavailable: 1\n( +)selector/m, '$1maxUnavailable: 1\n$1minAvailable: 1\n$2selector'),
    message: /mutually exclusive|may not be|cannot be both/i,
  },
  {
    title: 'text for a number of replicas',
    break: (manifests) => manifests.replace(/replicas: \d+/, 'replicas: many'),
    message: /replicas/,
  },
  {
    title: 'a container that may gain privileges',
    break: (manifests) => manifests.replace('allowPrivilegeEscalation: false', 'allowPrivilegeEscalation: true'),
    message: /violate PodSecurity/,
  },
];

const render = (cluster, overlay) => requireKubectl(cluster, ['kustomize', join(root, 'k8s', 'overlays', overlay)]);

const dryRun = ({ kubectl }, manifests) =>
  kubectl(
    ['apply', '--server-side', '--dry-run=server', '--validate=strict', '--warnings-as-errors', '-f', '-'],
    manifests,
  );

/** Runs all checks, each through `check(title, run)`. */
export async function checkManifests(cluster, check) {
  installDefinitions(cluster);
  requireKubectl(cluster, ['create', 'namespace', 'fleet']);
  requireKubectl(cluster, ['label', 'namespace', 'fleet', ...restricted]);
  for (const overlay of overlays) {
    await check(`the API server accepts every object of k8s/overlays/${overlay}`, () => {
      const { ok, output } = dryRun(cluster, render(cluster, overlay));
      if (!ok) throw new Error(output);
    });
  }
  for (const fault of faults) {
    await check(`the API server refuses ${fault.title}`, () => {
      const manifests = render(cluster, 'dev');
      const broken = fault.break(manifests);
      if (broken === manifests) throw new Error('The manifests do not contain the value that this check changes.');
      const { ok, output } = dryRun(cluster, broken);
      if (ok || !fault.message.test(output)) throw new Error(`It was not refused as expected:\n${output}`);
    });
  }
}
