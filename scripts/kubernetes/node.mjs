// A node of a cluster on this machine: containerd, kubelet, kube-proxy, CoreDNS, and kube-router for network policies.
// Needs root, containerd, runc, iptables, ipset and the network plugins of Debian (containernetworking-plugins).
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../processes.mjs';
import { serviceNetwork } from './control-plane.mjs';
import { program } from './tools.mjs';

const podNetwork = '10.42.0.0/24';
/** Address of this machine for pods. */
export const podGateway = '10.42.0.1';
const bridge = 'fleet-cni0';
const pluginFolders = ['/usr/lib/cni', '/opt/cni/bin'];
/** The API server connects to the kubelet by this name. */
export const nodeName = 'localhost';

/** Returns a sentence about what this machine lacks for a node, or null. */
export function findMissing() {
  if (process.getuid?.() !== 0) return 'A node needs root.';
  for (const name of ['buildah', 'containerd', 'runc', 'ctr', 'iptables', 'ipset', 'ip'])
    if (spawnSync('which', [name]).status !== 0) return `${name} is not installed.`;
  if (!pluginFolders.some((folder) => existsSync(join(folder, 'bridge')))) return 'The CNI plugins are not installed.';
  return null;
}

const containerdConfig = (folder) => `version = 2
root = "${join(folder, 'containerd')}"
state = "${join(folder, 'containerd-state')}"

[grpc]
  address = "${socketOf(folder)}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "${pluginFolders.find((each) => existsSync(join(each, 'bridge')))}"
  conf_dir = "${join(folder, 'cni')}"
`;

const networkConfig = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge,
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: podNetwork }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

const kubeletConfig = (folder) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address: '127.0.0.1',
  cgroupDriver: 'cgroupfs',
  failCgroupV1: false,
  failSwapOn: false,
  enforceNodeAllocatable: [],
  containerRuntimeEndpoint: `unix://${socketOf(folder)}`,
  clusterDNS: [podGateway],
  clusterDomain: 'cluster.local',
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  // The machine of a test has little space; images are imported and cannot be pulled again.
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  evictionHard: { 'memory.available': '100Mi' },
});

const coreDnsConfig = (kubeconfig) => `.:53 {
  bind ${podGateway}
  errors
  kubernetes cluster.local {
    kubeconfig ${kubeconfig} local
    ttl 5
  }
}
`;

const socketOf = (folder) => join(folder, 'containerd.sock');

/** Ends all containers: they would outlive containerd. */
function removeContainers(folder) {
  const ctr = (...args) => spawnSync('ctr', ['-a', socketOf(folder), '-n', 'k8s.io', ...args], { encoding: 'utf8' });
  for (const id of ctr('tasks', 'list', '-q').stdout.split('\n').filter(Boolean)) {
    ctr('tasks', 'kill', '-s', 'SIGKILL', id);
    ctr('tasks', 'delete', '-f', id);
  }
}

/** Imports images into the node from the store of buildah, with a tag that is not pulled again. */
export function importImages(folder, images, tag) {
  for (const image of images) {
    const archive = join(folder, 'image.tar');
    execFileSync('buildah', ['push', '-q', image, `docker-archive:${archive}:${image}:${tag}`], { stdio: 'pipe' });
    execFileSync('ctr', ['-a', socketOf(folder), '-n', 'k8s.io', 'images', 'import', archive], { stdio: 'pipe' });
    execFileSync('rm', [archive]);
  }
}

/** Creates the image of the container that holds the namespaces of each pod. */
function createPauseImage() {
  const buildah = (...args) => execFileSync('buildah', args, { encoding: 'utf8' }).trim();
  const container = buildah('from', 'scratch');
  buildah('copy', '-q', container, program('pause'), '/pause');
  buildah('config', '--entrypoint', '["/pause"]', '--user', '65535', container);
  buildah('commit', '-q', '--rm', container, 'localhost/pause');
}

/** Starts a node and waits until it is ready. */
export async function startNode(processes, folder, { kubectl, kubeconfig, privateKey }) {
  const write = (name, content) => {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, content);
    return path;
  };
  write('cni/10-pods.conflist', JSON.stringify(networkConfig));
  const configFile = write('containerd.toml', containerdConfig(folder));
  processes.start('containerd', 'containerd', ['-c', configFile], { beforeStop: () => removeContainers(folder) });
  await waitUntil('the start of containerd', () => {
    processes.check();
    return existsSync(socketOf(folder));
  });
  createPauseImage();
  importImages(folder, ['localhost/pause'], '1');
  processes.start('kube-controller-manager', program('kube-controller-manager'), [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${privateKey}`,
    '--leader-elect=false',
    '--secure-port=0',
  ]);
  processes.start('kube-scheduler', program('kube-scheduler'), [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
  ]);
  processes.start('kubelet', program('kubelet'), [
    `--config=${write('kubelet.json', JSON.stringify(kubeletConfig(folder)))}`,
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${nodeName}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--cert-dir=${join(folder, 'kubelet-certificates')}`,
  ]);
  processes.start('kube-proxy', program('kube-proxy'), [
    `--kubeconfig=${kubeconfig}`,
    '--proxy-mode=iptables',
    `--cluster-cidr=${podNetwork}`,
    `--hostname-override=${nodeName}`,
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0s',
    '--conntrack-tcp-timeout-close-wait=0s',
  ]);
  await waitUntil('the readiness of the node', () => {
    processes.check();
    const { output } = kubectl([
      'get',
      'node',
      nodeName,
      '-o',
      'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
    ]);
    return output === 'True';
  });
  // It looks the node up when it starts.
  processes.start('kube-router', program('kube-router'), [
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${nodeName}`,
    `--service-cluster-ip-range=${serviceNetwork}`,
    '--run-firewall=true',
    '--run-router=false',
    '--run-service-proxy=false',
    '--health-port=0',
    '--metrics-port=0',
  ]);
  createBridge();
  processes.start('coredns', program('coredns'), ['-conf', write('Corefile', coreDnsConfig(kubeconfig))]);
}

/** Creates the bridge of the pods: CoreDNS listens on its address before the first pod exists. */
function createBridge() {
  const ip = (...args) => execFileSync('ip', args, { stdio: 'pipe' });
  if (spawnSync('ip', ['link', 'show', bridge]).status !== 0) ip('link', 'add', bridge, 'type', 'bridge');
  spawnSync('ip', ['address', 'add', `${podGateway}/24`, 'dev', bridge]);
  ip('link', 'set', bridge, 'up');
}

/** Chains of kube-router and of the kubelet. */
const chains = /KUBE-(ROUTER|NWPLCY|POD-FW|FIREWALL|KUBELET-CANARY|IPTABLES-HINT)/;
const sets = /^(inet6:)?(KUBE-(SRC|DST)-|kube-router-)/;

/** Removes the rules of network policies: kube-router's own cleanup fails without its cluster. */
function removePolicyRules(run) {
  for (const command of ['iptables', 'ip6tables']) {
    const { status, stdout } = run(`${command}-save`);
    // Incomplete rules would replace those of the machine.
    if (status !== 0) continue;
    const others = stdout.split('\n').filter((line) => !chains.test(line));
    spawnSync(`${command}-restore`, { input: others.join('\n') });
  }
  const names = run('ipset', 'list', '-n').stdout.split('\n');
  for (const name of names.filter((each) => sets.test(each))) run('ipset', 'destroy', name);
}

/** Removes what a node leaves: rules, the bridge, mounts and containers. */
export function removeNode(folder) {
  const run = (...command) => spawnSync(command[0], command.slice(1), { encoding: 'utf8' });
  run(program('kube-proxy'), '--cleanup');
  removePolicyRules(run);
  run('ip', 'link', 'delete', bridge);
  for (const name of run('ip', 'netns', 'list').stdout.match(/^cni-\S+/gm) ?? []) run('ip', 'netns', 'delete', name);
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(folder));
  for (const path of mounts.reverse()) run('umount', '-l', path);
}
