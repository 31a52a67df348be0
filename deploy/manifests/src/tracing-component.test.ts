import { describe, expect, it } from '@jest/globals';
import { findRenderer, podOf, renderComponents } from './rendered-manifests.ts';
import { readServiceSettings } from './service-settings.ts';

const renderer = findRenderer();
/** Machines without kustomize and kubectl cannot render the manifests. */
const describeRendered = renderer === undefined ? describe.skip : describe;

describeRendered('the Kubernetes component tracing', () => {
  const manifests = renderer === undefined ? [] : renderComponents(['tracing'], renderer);

  it('sets variables of tracing that each service has, for every workload', () => {
    const { services, processes } = readServiceSettings();
    const workloads = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
    const variables = workloads.map((manifest) => {
      const container = podOf(manifest)?.containers.find(({ name }) => name === 'service');
      const names = (container?.env ?? []).map(({ name }) => name).filter((name) => name.startsWith('OTEL_'));
      const service = processes.find(({ name }) => name === manifest.metadata.name)?.service ?? '';
      return { names, unknown: names.filter((name) => !Object.hasOwn(services[service] ?? {}, name)) };
    });
    const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'];
    expect(variables).toEqual(workloads.map(() => ({ names, unknown: [] })));
    expect(workloads).toHaveLength(processes.length);
  });

  it('allows the way to the collector', () => {
    const policy = manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'tracing');
    expect(policy).toMatchObject({ spec: { policyTypes: ['Egress'], egress: [{ ports: [{ port: 4318 }] }] } });
  });
});
