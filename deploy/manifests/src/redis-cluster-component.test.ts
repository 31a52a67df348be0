import { describe, expect, it } from '@jest/globals';
import { findRenderer, podOf, renderComponents } from './rendered-manifests.ts';

const renderer = findRenderer();
/** Machines without kustomize and kubectl cannot render the manifests. */
const describeRendered = renderer === undefined ? describe.skip : describe;

describeRendered('the Kubernetes component redis-cluster', () => {
  const manifests = renderer === undefined ? [] : renderComponents(['backup', 'redis-cluster'], renderer);

  it('gives every workload and the backup job the authority of the cluster', () => {
    const workloads = manifests.filter(({ kind }) => ['Deployment', 'StatefulSet', 'CronJob'].includes(kind));
    expect(workloads.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Deployment', 'StatefulSet', 'CronJob']));
    for (const manifest of workloads) {
      const pod = podOf(manifest);
      expect(pod).toMatchObject({
        containers: [
          {
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
