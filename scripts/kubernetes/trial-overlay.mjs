// The overlay `dev` for a cluster of one node on this machine: own images of the backends, fixed addresses of the
// services, and volumes in folders of the node.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../steps.mjs';
import { backendImages } from './backend-images.mjs';

/** Addresses of the services, which this machine reaches as well. */
export const addresses = {
  'jt808-gateway': '10.43.0.78',
  'jt1078-media': '10.43.0.71',
  'device-api': '10.43.0.83',
  'platform-api': '10.43.0.82',
  'upload-ftp-0': '10.43.0.21',
};

/** API key of the first owner in the overlay `dev`. */
export const apiKey = `fk_${'0'.repeat(43)}`;
/** The first owner in the overlay `dev`. */
export const owner = { email: 'owner@fleet.example', password: 'development only password' };
/** Address of this machine for pods: they send webhooks to it. */
export const webhookHost = '10.42.0.1';

/** Claims of the backends and services that store files. */
const claims = ['data-nats-0', 'data-redis-0', 'data-mongodb-0', 'data-upload-ftp-0'];

const images = {
  nats: { newName: backendImages.nats, newTag: 'latest' },
  redis: { newName: backendImages.redis, newTag: 'latest' },
  mongo: { newName: backendImages.mongodb, newTag: 'latest' },
};

/** Settings with which webhooks reach a receiver on this machine. */
const receiverSettings = [
  ['WEBHOOK_ALLOW_HTTP', 'true'],
  ['WEBHOOK_ALLOWED_CIDRS', `${webhookHost}/32`],
];

const replaceAt = (path, value) => ({ op: 'replace', path, value });
const patch = (kind, name, ...operations) => ({ target: { kind, name }, patch: JSON.stringify(operations) });

/** Creates a volume for each claim. Returns the manifests. */
function createVolumes(folder) {
  return claims.map((claim) => {
    const path = join(folder, 'volumes', claim);
    mkdirSync(path, { recursive: true });
    // Volumes in folders ignore fsGroup.
    chmodSync(path, 0o777);
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: claim },
      spec: {
        capacity: { storage: '5Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        claimRef: { namespace: 'fleet', name: claim },
        hostPath: { path },
      },
    };
  });
}

/**
 * Writes the overlay. Returns its folder.
 * @param {string} folder receives the volumes
 * @param {{ terminals: readonly string[], replicas: Readonly<Record<string, number>>, baseUrl: string }} options
 */
export function writeTrialOverlay(folder, { terminals, replicas, baseUrl }) {
  // kustomize reads resources of a relative folder only.
  const target = join(root, '.cache', 'kubernetes', 'overlay');
  mkdirSync(target, { recursive: true });
  writeFileSync(
    join(target, 'volumes.json'),
    createVolumes(folder)
      .map((each) => JSON.stringify(each))
      .join('\n---\n'),
  );
  const variables = (...pairs) =>
    pairs.map(([name, value]) => ({
      op: 'add',
      path: '/spec/template/spec/containers/0/env/-',
      value: { name, value },
    }));
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
    resources: [relative(target, join(root, 'k8s', 'overlays', 'dev')), 'volumes.json'],
    images: Object.entries(images).map(([name, image]) => ({ name, ...image })),
    replicas: Object.entries(replicas).map(([name, count]) => ({ name, count })),
    configMapGenerator: [
      {
        name: 'fleet-settings',
        behavior: 'merge',
        literals: Object.entries(settings).map(([name, value]) => `${name}=${value}`),
      },
    ],
    patches: [
      ...Object.entries(addresses).map(([name, address]) =>
        patch('Service', name, { op: 'add', path: '/spec/clusterIP', value: address }),
      ),
      patch(
        'StatefulSet',
        'mongodb',
        replaceAt('/spec/template/spec/containers/0/args', ['-listen', '0.0.0.0:27017', '-dir', '/data/db']),
      ),
      patch('Deployment', 'platform-api', ...variables(['BOOTSTRAP_DEMO_TERMINALS', terminals.join(',')])),
      patch('Deployment', 'webhook-dispatcher', ...variables(...receiverSettings)),
      patch('Deployment', 'platform-api', ...variables(...receiverSettings)),
      // The images are on the node already.
      ...['Deployment', 'StatefulSet', 'Job'].map((kind) => ({
        target: { kind },
        patch: JSON.stringify([
          { op: 'add', path: '/spec/template/spec/containers/0/imagePullPolicy', value: 'Never' },
        ]),
      })),
    ],
  };
  writeFileSync(join(target, 'kustomization.yaml'), JSON.stringify(kustomization, null, 2));
  return target;
}
