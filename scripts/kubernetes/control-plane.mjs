// A Kubernetes API server with etcd on this machine: it validates manifests as a cluster does.

import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort, waitUntil } from '../processes.mjs';
import { definitionsFolder, program } from './tools.mjs';

/** Addresses of services. */
export const serviceNetwork = '10.43.0.0/16';

/** Writes the keys and the token of the administrator, and a kubeconfig. Returns their paths. */
function writeCredentials(folder, port) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const token = randomBytes(16).toString('hex');
  const write = (name, content) => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'local', cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'local', context: { cluster: 'local', user: 'admin' } }],
    'current-context': 'local',
  };
  return {
    privateKey: write('service-accounts.key', privateKey.export({ type: 'pkcs1', format: 'pem' })),
    publicKey: write('service-accounts.pub', publicKey.export({ type: 'spki', format: 'pem' })),
    tokens: write('tokens.csv', `${token},admin,admin,system:masters\n`),
    kubeconfig: write('kubeconfig', JSON.stringify(kubeconfig)),
  };
}

async function startEtcd(processes, folder) {
  const client = `http://127.0.0.1:${await findFreePort()}`;
  const peer = `http://127.0.0.1:${await findFreePort()}`;
  processes.start('etcd', program('etcd'), [
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ]);
  return client;
}

/**
 * Starts the API server. Returns its kubeconfig, the key of service accounts, and `kubectl`, which returns
 * `{ ok, output }`.
 */
export async function startControlPlane(processes, folder) {
  mkdirSync(folder, { recursive: true });
  const etcd = await startEtcd(processes, folder);
  const port = await findFreePort();
  const { privateKey, publicKey, tokens, kubeconfig } = writeCredentials(folder, port);
  processes.start('kube-apiserver', program('kube-apiserver'), [
    `--etcd-servers=${etcd}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${join(folder, 'certificates')}`,
    `--service-account-key-file=${publicKey}`,
    `--service-account-signing-key-file=${privateKey}`,
    '--service-account-issuer=https://fleet.example',
    `--token-auth-file=${tokens}`,
    '--authorization-mode=RBAC',
    `--service-cluster-ip-range=${serviceNetwork}`,
    '--disable-admission-plugins=ServiceAccount',
    '--kubelet-preferred-address-types=Hostname',
  ]);
  const kubectl = (args, input = '') => {
    const { status, stdout, stderr } = spawnSync(program('kubectl'), ['--kubeconfig', kubeconfig, ...args], {
      input,
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    });
    return { ok: status === 0, output: `${stdout}${stderr}` };
  };
  await waitUntil('the start of the API server', () => {
    processes.check();
    return kubectl(['get', '--raw', '/readyz']).ok;
  });
  return { kubectl, kubeconfig, privateKey };
}

/** Runs kubectl. Throws with its output if it fails. */
export function requireKubectl({ kubectl }, args, input) {
  const { ok, output } = kubectl(args, input);
  if (!ok) throw new Error(`kubectl ${args.join(' ')} failed:\n${output}`);
  return output;
}

/** Installs the custom resource definitions that the components of the overlays need. */
export function installDefinitions(cluster) {
  requireKubectl(cluster, ['apply', '--server-side', '-f', definitionsFolder]);
  requireKubectl(cluster, ['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
}
