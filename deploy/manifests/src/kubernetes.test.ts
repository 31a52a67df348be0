import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { readImageEnvironment } from './image-environment.ts';
import { resolveEnvironment } from './pod-environment.ts';
import {
  type Container,
  definitionsFolder,
  findRenderer,
  findTool,
  type Manifest,
  type PodSpec,
  parseManifests,
  podOf,
  render,
} from './rendered-manifests.ts';
import { findConfigFaults, readServiceSettings, root } from './service-settings.ts';

const renderer = findRenderer();
/** Machines without kustomize and kubectl cannot render the manifests. */
const describeRendered = renderer === undefined ? describe.skip : describe;

/** Values of the Secrets, as an operator creates them. */
const secrets = {
  NATS_URL: 'nats://user:password@nats:4222',
  REDIS_URL: 'redis://redis:6379',
  MONGODB_URL: 'mongodb://mongodb:27017/fleet',
  GATEWAY_AUTH_SECRET: 'g'.repeat(64),
  MEDIA_SIGNING_SECRET: 'm'.repeat(64),
  CLIPS_SIGNING_SECRET: 'c'.repeat(64),
  STREAM_TOKEN_SECRET: 's'.repeat(64),
  ENCRYPTION_KEY: 'e'.repeat(64),
};

/** Variables that only later variables refer to. */
const auxiliary = new Set(['POD_NAME', 'POD_NAMESPACE', 'POD_INDEX', 'POD_IP', 'FTP_DOMAIN']);

/** Variables that only npm start needs, or whose default is right in a container. */
const localOnly = new Set([
  'NODE_ENV',
  'NODE_COMPILE_CACHE',
  'HOST',
  'ADMIN_HOST',
  'ROAD_NETWORK_FILE',
  'TOLL_GATES_FILE',
  'BOOTSTRAP_DEMO_TERMINALS',
  'DEMO_MENU',
  // upload-ftp stores the name of a pod on its volume.
  'POD_ID',
]);

/** Kinds of the components, which kubernetes-models does not have. */
const isCustom = ({ apiVersion }: Manifest): boolean =>
  ['gateway.networking.k8s.io', 'monitoring.coreos.com', 'keda.sh', 'cert-manager.io'].includes(
    apiVersion.split('/')[0] ?? '',
  );

describeRendered.each(['dev', 'prod'])('the Kubernetes overlay %s', (overlay) => {
  let manifests: Manifest[];
  let settings: ReturnType<typeof readServiceSettings>;
  beforeAll(() => {
    if (renderer === undefined) throw new Error('there is no program that renders the manifests');
    manifests = parseManifests(render(`overlays/${overlay}`, renderer));
    settings = readServiceSettings();
  });

  const ofKind = (kind: string): Manifest[] => manifests.filter((manifest) => manifest.kind === kind);
  const findManifest = (kind: string, name: string): Manifest => {
    const found = ofKind(kind).find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
    return found;
  };
  /** Returns the workloads of services: their manifest, pod, container and service. */
  const findWorkloads = () =>
    manifests.flatMap((manifest) => {
      const pod = podOf(manifest);
      const container = pod?.containers.find(({ name }) => name === 'service');
      if (pod === undefined || container === undefined) return [];
      const service = /([\w-]+):[\w.]+$/.exec(container.image)?.[1] ?? '';
      return [{ name: manifest.metadata.name, manifest, pod, container, service }];
    });
  const environmentOf = (container: Container) => ({
    ...readImageEnvironment(),
    ...resolveEnvironment(container, manifests, secrets),
  });

  it('consists of valid objects with different names', async () => {
    const unknown: string[] = [];
    for (const manifest of manifests.filter((each) => !isCustom(each))) {
      const models = (await import(`kubernetes-models/${manifest.apiVersion}/${manifest.kind}`)) as Record<
        string,
        new (
          data: unknown,
        ) => { validate(): void }
      >;
      const Model = models[manifest.kind];
      if (Model === undefined) unknown.push(manifest.kind);
      else new Model(manifest).validate();
    }
    expect(unknown).toEqual([]);
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it('runs the processes of npm start', () => {
    const ours = findWorkloads().map(({ name, service }) => `${name}: ${service}`);
    expect(ours.toSorted()).toEqual(settings.processes.map(({ name, service }) => `${name}: ${service}`).toSorted());
  });

  it('sets only variables that the service has, and those that npm start sets', () => {
    const differences = findWorkloads().flatMap(({ name, service, container }) => {
      const variables = (container.env ?? []).map((variable) => variable.name);
      const known = settings.services[service] ?? {};
      const local = settings.processes.find((process) => process.name === name)?.variables ?? [];
      return [
        ...variables.filter((variable) => !Object.hasOwn(known, variable) && !auxiliary.has(variable)),
        ...local.filter((variable) => !variables.includes(variable) && !localOnly.has(variable)),
      ].map((variable) => `${name}: ${variable}`);
    });
    expect(differences).toEqual([]);
  });

  it('gives every service settings that it accepts in production', () => {
    const environments = findWorkloads().map(({ service, container }) => ({ service, env: environmentOf(container) }));
    expect(findConfigFaults(environments)).toEqual(environments.map(() => null));
  });

  it('gives the migration job settings that it accepts in production', () => {
    const container = findManifest('Job', 'migrate').spec.template?.spec.containers[0];
    const env = container === undefined ? {} : environmentOf(container);
    expect(findConfigFaults([{ service: 'platform-api', env }])).toEqual([null]);
  });

  it('gives the backup job the stores of the services', () => {
    const environments = ofKind('CronJob').flatMap((manifest) => podOf(manifest)?.containers.map(environmentOf) ?? []);
    expect(environments).toHaveLength(overlay === 'prod' ? 1 : 0);
    for (const env of environments)
      expect(env).toMatchObject({
        NATS_URL: secrets.NATS_URL,
        REDIS_URL: secrets.REDIS_URL,
        MONGODB_URL: secrets.MONGODB_URL,
      });
  });

  it('takes every secret from a Secret', () => {
    const written = findWorkloads().flatMap(({ name, service, container }) =>
      (container.env ?? [])
        .filter((variable) => settings.services[service]?.[variable.name]?.secret === true)
        .filter(({ valueFrom }) => valueFrom?.secretKeyRef === undefined)
        .map((variable) => `${name}: ${variable.name}`),
    );
    expect(written).toEqual([]);
  });

  it('follows the restricted profile of pod security', () => {
    const pods = manifests.flatMap((manifest) => podOf(manifest) ?? []);
    const restricted = {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    };
    for (const pod of pods) {
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.containers.map(({ securityContext }) => securityContext)).toEqual(
        pod.containers.map(() => restricted),
      );
    }
    expect(findManifest('Namespace', 'fleet').metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted',
    });
  });

  it('requests processor and memory for every container, and limits only the memory', () => {
    const containers = manifests.flatMap((manifest) => podOf(manifest)?.containers ?? []);
    expect(containers.length).toBeGreaterThan(7);
    for (const { resources } of containers) {
      expect(resources?.requests).toEqual({ cpu: expect.any(String), memory: expect.any(String) });
      expect(resources?.limits).toEqual({ memory: expect.any(String) });
    }
  });

  it('probes the admin port, and restarts no process because of its backends', () => {
    for (const { container } of findWorkloads()) {
      const paths = [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
        (probe) => probe?.httpGet,
      );
      expect(paths).toEqual(['/livez', '/livez', '/readyz'].map((path) => ({ path, port: 'admin' })));
      expect(container.ports).toContainEqual({ name: 'admin', containerPort: 9090 });
      expect(environmentOf(container)).toMatchObject({ ADMIN_PORT: '9090' });
    }
  });

  it('leaves every process time for its drain', () => {
    const drainMs = (service: string, env: Record<string, string>): number => {
      const sum = (...names: string[]): number =>
        names.reduce((total, name) => total + Number(env[name] ?? settings.services[service]?.[name]?.default ?? 0), 0);
      return sum('DRAIN_COMMANDS_MS', 'DRAIN_SPREAD_MS', 'STOP_GRACE_MS', 'FTP_STOP_GRACE_MS');
    };
    for (const { pod, container, service } of findWorkloads()) {
      const delaySeconds = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
      expect(delaySeconds).toBe(10);
      const neededSeconds = delaySeconds + drainMs(service, environmentOf(container)) / 1000 + 10;
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(neededSeconds);
    }
  });

  it('spreads every workload, and disrupts one of its pods at a time', () => {
    for (const { name, pod } of findWorkloads()) {
      expect(findManifest('PodDisruptionBudget', name).spec).toEqual({
        maxUnavailable: 1,
        selector: { matchLabels: { 'app.kubernetes.io/name': name } },
      });
      expect(pod.topologySpreadConstraints).toHaveLength(2);
    }
  });

  it('has Services whose pods and ports exist', () => {
    const unknown = ofKind('Service').flatMap(({ metadata, spec }) => {
      const app = spec.selector?.['app.kubernetes.io/name'];
      const workload = manifests.find(
        ({ spec: each }) => each?.template?.metadata?.labels?.['app.kubernetes.io/name'] === app,
      );
      const names = portNames(workload?.spec.template?.spec);
      return (spec.ports ?? []).flatMap(({ targetPort }) =>
        typeof targetPort === 'number' || names.has(targetPort) ? [] : [`${metadata.name}: ${targetPort}`],
      );
    });
    expect(unknown).toEqual([]);
  });

  it('keeps the addresses of terminals, and exposes no admin port', () => {
    const external = ofKind('Service').filter(({ spec }) => spec.type !== undefined);
    expect(external.length).toBeGreaterThanOrEqual(3);
    for (const { spec } of external) expect(spec.externalTrafficPolicy).toBe('Local');
    const ports = ofKind('Service').flatMap(({ spec }) => spec.ports ?? []);
    expect(ports.filter(({ port, targetPort }) => port === 9090 || targetPort === 'admin')).toEqual([]);
  });

  it('leads the passive ports of each upload pod to that pod', () => {
    const { spec: workload } = findManifest('StatefulSet', 'upload-ftp');
    const variables = workload.template?.spec.containers[0]?.env ?? [];
    const passivePort = (name: string, index: string): number =>
      Number(variables.find((variable) => variable.name === name)?.value?.replace('$(POD_INDEX)', index));
    const perPod = ofKind('Service').filter(({ metadata }) => /^upload-ftp-\d+$/.test(metadata.name));
    expect(perPod).toHaveLength(workload.replicas ?? 0);
    for (const { metadata, spec } of perPod) {
      const index = metadata.name.slice('upload-ftp-'.length);
      expect(spec.selector).toMatchObject({ 'apps.kubernetes.io/pod-index': index });
      const [min, max] = [passivePort('FTP_PASV_MIN', index), passivePort('FTP_PASV_MAX', index)];
      const expected = Array.from({ length: max - min + 1 }, (_, offset) => min + offset);
      const data = spec.ports?.filter(({ name }) => name.startsWith('data-')) ?? [];
      expect(data.map(({ port }) => port)).toEqual(expected);
      expect(data.map(({ targetPort }) => targetPort)).toEqual(expected);
    }
  });

  it('refuses all traffic that is not listed', () => {
    expect(findManifest('NetworkPolicy', 'default-deny').spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    });
  });

  const validator = findTool('kubectl-validate');
  (validator === undefined || !existsSync(definitionsFolder) ? it.skip : it)(
    'matches the schemas of Kubernetes and of the components',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'manifests-'));
      const file = join(folder, 'all.yaml');
      writeFileSync(file, render(`overlays/${overlay}`, renderer ?? ['kustomize']));
      const result = spawnSync(validator ?? '', [file, '--version', '1.30', '--local-crds', definitionsFolder], {
        encoding: 'utf8',
      });
      rmSync(folder, { recursive: true });
      expect(result.stderr + result.stdout).toContain('OK');
      expect(result.status).toBe(0);
    },
  );
});

const portNames = (pod: PodSpec | undefined): Set<string> =>
  new Set(pod?.containers.flatMap(({ ports = [] }) => ports.map(({ name }) => name)) ?? []);

describeRendered('the production overlay', () => {
  let manifests: Manifest[];
  beforeAll(() => {
    manifests = parseManifests(render('overlays/prod', renderer ?? ['kustomize']));
  });
  const specs = (kind: string) => manifests.filter((manifest) => manifest.kind === kind).map(({ spec }) => spec);

  it('routes requests as the local proxy does, without a time-out', () => {
    const rules = specs('HTTPRoute').flatMap(({ hostnames = [], rules: each = [] }) =>
      each.map((rule) => ({ host: hostnames[0], ...rule })),
    );
    const find = (host: string, path: string) =>
      rules.find(
        (rule) =>
          rule.host === host &&
          rule.matches.some(({ path: { type, value } }) =>
            type === 'Exact' ? path === value : value === '/' || path === value || path.startsWith(`${value}/`),
          ),
      )?.backendRefs[0];
    const deviceApi = { name: 'device-api', port: 8083 };
    const platformApi = { name: 'platform-api', port: 8082 };
    for (const path of ['/api/v1', '/api/v1/wakeup', '/api/device/sendInstruct'])
      expect(find('fleet.example', path)).toEqual(deviceApi);
    for (const path of ['/', '/api/vehicles', '/api/v10', '/api/device/sendInstruct/x', '/ws', '/livez'])
      expect(find('fleet.example', path)).toEqual(platformApi);
    expect(find('video.fleet.example', '/stream')).toEqual({ name: 'device-api', port: 8081 });
    expect(rules.map(({ timeouts }) => timeouts)).toEqual(rules.map(() => ({ request: '0s', backendRequest: '0s' })));
  });

  it('leaves the number of replicas to the autoscalers', () => {
    const scaled = [...specs('HorizontalPodAutoscaler'), ...specs('ScaledObject')].map(
      ({ scaleTargetRef }) => scaleTargetRef?.name ?? '',
    );
    expect(scaled.toSorted()).toEqual(['device-api', 'jt808-gateway', 'platform-api', 'webhook-dispatcher']);
    const fixed = manifests.filter(({ kind, spec }) => kind === 'Deployment' && spec.replicas !== undefined);
    // No autoscaler manages the media pods.
    expect(fixed.map(({ metadata }) => metadata.name)).toEqual(['jt1078-media']);
  });

  it('stores acknowledged messages on the disks of two of three NATS servers', () => {
    const configuration = manifests.find(({ data }) => data?.['nats.conf'] !== undefined)?.data?.['nats.conf'];
    expect(configuration).toContain('sync_interval: always');
    const settings = manifests.find(({ data }) => data?.['JETSTREAM_REPLICAS'] !== undefined)?.data;
    expect(settings?.['JETSTREAM_REPLICAS']).toBe('3');
    expect(configuration).toContain(`server_tags: ["${settings?.['JETSTREAM_PLACEMENT_TAGS'] ?? ''}"]`);
    expect(
      manifests.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'nats')?.spec.replicas,
    ).toBe(3);
  });

  it('contains no Secret', () => {
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  it('names a runbook entry of docs/operations.md in every alert', () => {
    const alerts = specs('PrometheusRule').flatMap(({ groups = [] }) => groups.flatMap(({ rules }) => rules));
    const headings = [...readFileSync(join(root, 'docs', 'operations.md'), 'utf8').matchAll(/^#+ (.+)$/gm)].map(
      ([, heading = '']) => `docs/operations.md#${heading.toLowerCase().replaceAll(' ', '-')}`,
    );
    expect(alerts.length).toBeGreaterThan(10);
    expect(alerts.map(({ annotations }) => annotations.runbook).filter((link) => !headings.includes(link))).toEqual([]);
  });

  it('has alerts on metrics that exist', () => {
    const rules = specs('PrometheusRule').flatMap(({ groups = [] }) => groups.flatMap((group) => group.rules));
    const page = readFileSync(join(root, 'docs', 'reference', 'metrics.md'), 'utf8');
    const names = rules.flatMap(({ expr }) => expr.match(/\b[a-z]+(?:_[a-z0-9]+){1,}\b(?=\{|\[| |\))/g) ?? []);
    const isDefault = (name: string): boolean => /^(process|nodejs)_/.test(name) || name === 'histogram_quantile';
    const unknown = names.filter(
      (name) => !isDefault(name) && !page.includes(`\`${name.replace(/_(?:bucket|count)$/, '')}\``),
    );
    expect(names.length).toBeGreaterThan(rules.length - 2);
    expect(unknown).toEqual([]);
  });

  it('has the Grafana board that its script writes, on metrics that exist', () => {
    const { stdout } = spawnSync(process.execPath, ['scripts/grafana-board.mjs', '--print'], {
      cwd: root,
      encoding: 'utf8',
    });
    const board = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'fleet-board');
    expect(board?.data?.['board.json']).toBe(stdout);
    const expressions = [...stdout.matchAll(/"expr": "(.+)",$/gm)].map(([, expr = '']) => expr);
    const names = expressions.flatMap((expr) => expr.match(/\b[a-z]+(?:_[a-z0-9]+)+\b(?=\{|\[| ==|\))/g) ?? []);
    const page = readFileSync(join(root, 'docs', 'reference', 'metrics.md'), 'utf8');
    const isListed = (name: string): boolean => page.includes(`\`${name.replace(/_(?:bucket|count)$/, '')}\``);
    expect(expressions.length).toBeGreaterThan(30);
    expect(names.filter((name) => !/^(process|nodejs)_/.test(name) && !isListed(name))).toEqual([]);
  });

  const promtool = findTool('promtool');
  (promtool === undefined ? it.skip : it)('has a Grafana board of valid expressions', () => {
    const board = manifests.find(({ metadata }) => metadata.name === 'fleet-board')?.data?.['board.json'] ?? '';
    const expressions = [...board.matchAll(/"expr": (".+"),$/gm)].map(([, text = '']) => JSON.parse(text) as string);
    const rules = expressions.map((expr, index) => ({
      record: `board:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    const folder = mkdtempSync(join(tmpdir(), 'board-'));
    writeFileSync(join(folder, 'rules.yaml'), stringify({ groups: [{ name: 'board', rules }] }));
    const result = spawnSync(promtool ?? '', ['check', 'rules', 'rules.yaml'], { cwd: folder, encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect(result.stdout + result.stderr).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  (promtool === undefined ? it.skip : it)('has alerts that fire for faults only', () => {
    const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
    writeFileSync(join(folder, 'rules.yaml'), stringify(specs('PrometheusRule')[0]));
    const tests = readFileSync(join(root, 'k8s', 'components', 'monitoring', 'alerts.test.yaml'), 'utf8');
    writeFileSync(join(folder, 'alerts.test.yaml'), tests);
    const result = spawnSync(promtool ?? '', ['test', 'rules', 'alerts.test.yaml'], { cwd: folder, encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect(result.stdout + result.stderr).toContain('SUCCESS');
    expect(result.status).toBe(0);
  });
});
