// The overlays for a cluster of one node on this machine: own images, fixed addresses of the services, and volumes in
// folders of the node.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../steps.mjs';
import { backendImages } from './backend-images.mjs';
import { podGateway } from './node.mjs';

/** Addresses of the services, which this machine reaches as well. */
export const addresses = {
  'jt808-gateway': '10.43.0.78',
  'jt1078-media': '10.43.0.71',
  'device-api': '10.43.0.83',
  'platform-api': '10.43.0.82',
  'upload-ftp-0': '10.43.0.21',
};

/** API key of the first owner. */
export const apiKey = `fk_${'0'.repeat(43)}`;
/** The first owner. */
export const owner = { email: 'owner@fleet.example', password: 'development only password' };

/** Names of the services, which are those of their images. */
export const services = [
  'jt808-gateway',
  'jt1078-media',
  'device-api',
  'platform-api',
  'upload-ftp',
  'webhook-dispatcher',
];

/** Tag of the images on the node: another than `latest` is not pulled. */
export const imageTag = 'trial';
/** Image of the jobs. */
export const jobImage = `localhost/fleet/platform-api:${imageTag}`;

const natsUser = { user: 'fleet', password: 'trial' };
/** Port of MongoDB on this machine, for the overlay `prod`. */
export const mongoPort = 27_017;

const replaceAt = (path, value) => ({ op: 'replace', path, value });
const addAt = (path, value) => ({ op: 'add', path, value });
const patch = (kind, name, ...operations) => ({ target: { kind, name }, patch: JSON.stringify(operations) });

/** A machine of a test has few processors, and all pods are on one node. */
const smallPods = [
  ...['nats', 'redis'].map((name) =>
    patch('StatefulSet', name, replaceAt('/spec/template/spec/topologySpreadConstraints', [])),
  ),
  patch('StatefulSet', 'redis', addAt('/spec/template/spec/containers/1/resources/requests/cpu', '10m')),
  patch('Deployment|StatefulSet', '.*', addAt('/spec/template/spec/containers/0/resources/requests/cpu', '20m')),
];

const secrets = {
  'fleet-backends': {
    NATS_URL: `nats://${natsUser.user}:${natsUser.password}@nats:4222`,
    REDIS_URL: 'redis+sentinel://redis-sentinel:26379/fleet',
    MONGODB_URL: `mongodb://${podGateway}:${mongoPort}/fleet?replicaSet=fleet`,
  },
  'fleet-secrets': {
    GATEWAY_AUTH_SECRET: 'trial-gateway-auth-secret-of-one-node',
    MEDIA_SIGNING_SECRET: 'trial-media-signing-secret-of-one-node',
    CLIPS_SIGNING_SECRET: 'trial-clips-signing-secret-of-one-node',
    STREAM_TOKEN_SECRET: 'trial-stream-token-secret-of-one-node',
    ENCRYPTION_KEY: 'trial-encryption-key-of-one-node',
    BOOTSTRAP_OWNER_EMAIL: owner.email,
    BOOTSTRAP_OWNER_PASSWORD: owner.password,
    BOOTSTRAP_API_KEY: apiKey,
  },
  'nats-credentials': { 'users.conf': `users: [${JSON.stringify(natsUser)}]` },
};

const toLiterals = (values) => Object.entries(values).map(([name, value]) => `${name}=${value}`);
const toGenerator = ([name, values]) => ({
  name,
  options: { disableNameSuffixHash: true },
  literals: toLiterals(values),
});
const toTrialImage = (name, newName) => ({ name, newName, newTag: imageTag });

/** What an overlay needs on this machine, and what differs between them. */
export const trials = {
  dev: {
    claims: ['data-nats-0', 'data-redis-0', 'data-mongodb-0', 'data-upload-ftp-0', 'backups'],
    backends: ['nats', 'redis', 'mongodb'],
    replicas: { 'jt1078-media': 2, 'platform-telemetry': 2 },
    streamReplicas: 1,
    natsUser: {},
    components: ['backup'],
    secrets: {},
    images: [
      toTrialImage('mongo', backendImages.mongodb),
      ...services.map((name) => toTrialImage(`localhost/fleet/${name}`, `localhost/fleet/${name}`)),
      // The overlay names it for its own resources only.
      toTrialImage('fleet/platform-api', 'localhost/fleet/platform-api'),
    ],
    patches: [
      patch(
        'StatefulSet',
        'mongodb',
        replaceAt('/spec/template/spec/containers/0/args', ['-listen', '0.0.0.0:27017', '-dir', '/data/db']),
      ),
    ],
  },
  prod: {
    claims: [
      ...['nats', 'redis'].flatMap((name) => [0, 1, 2].map((index) => `data-${name}-${index}`)),
      'data-upload-ftp-0',
      'data-upload-ftp-1',
      'backups',
    ],
    backends: ['nats', 'redis'],
    replicas: {},
    streamReplicas: 3,
    natsUser: { user: natsUser.user, pass: natsUser.password },
    components: [],
    secrets,
    images: services.map((name) => toTrialImage(`registry.example/fleet/${name}`, `localhost/fleet/${name}`)),
    patches: smallPods,
  },
};

/** Settings with which webhooks reach a receiver on this machine. */
const receiverSettings = [
  ['WEBHOOK_ALLOW_HTTP', 'true'],
  ['WEBHOOK_ALLOWED_CIDRS', `${podGateway}/32`],
];

const toManifests = (objects) => objects.map((each) => JSON.stringify(each)).join('\n---\n');

/** Creates a volume for each claim. Returns the manifests. */
const createVolumes = (folder, claims) =>
  claims.map((claim) => {
    const path = join(folder, 'volumes', claim);
    mkdirSync(path, { recursive: true });
    // Volumes in folders ignore fsGroup.
    chmodSync(path, 0o777);
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: claim },
      spec: {
        capacity: { storage: '200Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        claimRef: { namespace: 'fleet', name: claim },
        hostPath: { path },
      },
    };
  });

const policy = (name, labels, ...ports) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name },
  spec: {
    podSelector: { matchLabels: labels },
    policyTypes: ['Egress'],
    egress: [{ to: [{ ipBlock: { cidr: `${podGateway}/32` } }], ...(ports.length === 0 ? {} : { ports }) }],
  },
});

/** CoreDNS and the receiver of webhooks run on this machine, outside the cluster. */
const hostPolicies = [
  policy('dns-of-the-node', {}, { port: 53, protocol: 'UDP' }, { port: 53 }),
  policy('receiver-of-webhooks', { 'app.kubernetes.io/name': 'webhook-dispatcher' }),
];

const variables = (...pairs) =>
  pairs.map(([name, value]) => addAt('/spec/template/spec/containers/0/env/-', { name, value }));

/**
 * Writes an overlay over `k8s/overlays/<name>`. Returns its folder.
 * @param {string} folder receives the volumes
 * @param {{ name: keyof typeof trials, terminals: readonly string[], baseUrl: string }} options
 */
export function writeTrialOverlay(folder, { name, terminals, baseUrl }) {
  const trial = trials[name];
  // kustomize reads resources of a relative folder only.
  const target = join(root, '.cache', 'kubernetes', 'overlay');
  const toRelative = (...path) => relative(target, join(root, 'k8s', ...path));
  mkdirSync(target, { recursive: true });
  const objects = [...createVolumes(folder, trial.claims), ...hostPolicies];
  writeFileSync(join(target, 'objects.json'), toManifests(objects));
  const settings = {
    PUBLIC_BASE_URL: baseUrl,
    VIDEO_BASE_URL: baseUrl,
    MEDIA_PUBLIC_HOST: addresses['jt1078-media'],
    TRUST_PROXY: '10.42.0.0/24',
  };
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace: 'fleet',
    resources: [toRelative('overlays', name), 'objects.json'],
    components: trial.components.map((each) => toRelative('components', each)),
    images: [toTrialImage('nats', backendImages.nats), toTrialImage('redis', backendImages.redis), ...trial.images],
    replicas: Object.entries(trial.replicas).map(([workload, count]) => ({ name: workload, count })),
    configMapGenerator: [{ name: 'fleet-settings', behavior: 'merge', literals: toLiterals(settings) }],
    secretGenerator: Object.entries(trial.secrets).map(toGenerator),
    patches: [
      ...Object.entries(addresses).map(([service, address]) =>
        patch('Service', service, addAt('/spec/clusterIP', address)),
      ),
      patch('Deployment', 'platform-api', ...variables(['BOOTSTRAP_DEMO_TERMINALS', terminals.join(',')])),
      patch('Deployment', 'webhook-dispatcher', ...variables(...receiverSettings)),
      patch('Deployment', 'platform-api', ...variables(...receiverSettings)),
      ...trial.patches,
    ],
  };
  writeFileSync(join(target, 'kustomization.yaml'), JSON.stringify(kustomization, null, 2));
  return target;
}
