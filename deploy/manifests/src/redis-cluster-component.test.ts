import { describe, expect, it } from '@jest/globals';
import { findRenderer, podOf, renderComponent } from './rendered-manifests.ts';

const renderer = findRenderer();
/** Machines without kustomize and kubectl cannot render the manifests. */
const describeRendered = renderer === undefined ? describe.skip : describe;

describeRendered('the Kubernetes component redis-cluster', () => {
  const manifests = renderer === undefined ? [] : renderComponent('redis-cluster', renderer);

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
