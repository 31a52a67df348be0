import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { findRenderer, parseManifests, podOf, render } from './rendered-manifests.ts';
import { readServiceSettings, root } from './service-settings.ts';

const renderer = findRenderer();
/** Machines without kustomize and kubectl cannot render the manifests. */
const describeRendered = renderer === undefined ? describe.skip : describe;

/** Renders an overlay that lists the component. */
function renderWithTracing() {
  if (renderer === undefined) throw new Error('there is no program that renders the manifests');
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'tracing-overlay-'));
  try {
    const pathOf = (path: string): string => relative(folder, join(root, 'k8s', path));
    const overlay = { resources: [pathOf('base')], components: [pathOf('components/tracing')] };
    writeFileSync(join(folder, 'kustomization.yaml'), stringify(overlay));
    return parseManifests(render(relative(join(root, 'k8s'), folder), renderer));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describeRendered('the Kubernetes component tracing', () => {
  const manifests = renderer === undefined ? [] : renderWithTracing();

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
