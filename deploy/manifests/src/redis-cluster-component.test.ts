import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { findRenderer, parseManifests, podOf, render } from './rendered-manifests.ts';
import { root } from './service-settings.ts';

const renderer = findRenderer();
/** Machines without kustomize and kubectl cannot render the manifests. */
const describeRendered = renderer === undefined ? describe.skip : describe;

/** Renders an overlay that lists the component. */
function renderWithCluster() {
  if (renderer === undefined) throw new Error('there is no program that renders the manifests');
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'redis-overlay-'));
  try {
    const pathOf = (path: string): string => relative(folder, join(root, 'k8s', path));
    const overlay = { resources: [pathOf('base')], components: [pathOf('components/redis-cluster')] };
    writeFileSync(join(folder, 'kustomization.yaml'), stringify(overlay));
    return parseManifests(render(relative(join(root, 'k8s'), folder), renderer));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describeRendered('the Kubernetes component redis-cluster', () => {
  const manifests = renderer === undefined ? [] : renderWithCluster();

  it('gives every workload the authority of the cluster', () => {
    const workloads = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
    expect(workloads.length).toBeGreaterThan(0);
    for (const manifest of workloads) {
      const pod = podOf(manifest);
      expect(pod).toMatchObject({
        containers: [
          {
            name: 'service',
            env: expect.arrayContaining([{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/redis-authority/ca.crt' }]),
            volumeMounts: expect.arrayContaining([
              { name: 'redis-authority', mountPath: '/etc/redis-authority', readOnly: true },
            ]),
          },
        ],
        volumes: expect.arrayContaining([{ name: 'redis-authority', secret: { secretName: 'redis-authority' } }]),
      });
    }
  });

  it('allows the way to the nodes', () => {
    const policy = manifests.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'redis-cluster',
    );
    expect(policy).toMatchObject({ spec: { policyTypes: ['Egress'], egress: [{ ports: [{ port: 6379 }] }] } });
  });
});
