// Builds the programs of the Kubernetes tests from Go modules into .cache/kubernetes, once. Needs Go.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root, runStep } from '../steps.mjs';

export const cacheFolder = join(root, '.cache', 'kubernetes');
export const definitionsFolder = join(cacheFolder, 'definitions');
const binFolder = join(cacheFolder, 'bin');

const validator = 'sigs.k8s.io/kubectl-validate@v0.0.4';
const kubernetesVersion = '1.35.4';
const coreDnsVersion = '1.15.0';
const kubeRouterVersion = '2.1.0';
const definitions = {
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
  'github.com/kedacore/keda/v2@v2.18.0': ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  'sigs.k8s.io/gateway-api@v1.4.0': [
    'config/crd/standard/gateway.networking.k8s.io_gateways.yaml',
    'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml',
  ],
  'github.com/cert-manager/cert-manager@v1.18.2': ['deploy/crds/crd-certificates.yaml'],
};
/** Programs of the API server's tests, and of those of the node. */
export const apiServerPrograms = ['etcd', 'kube-apiserver', 'kubectl'];
export const nodePrograms = [
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kube-router',
  'coredns',
  'pause',
];

/** Programs that are modules of their own: the module to require, and the package to build. */
const ownModules = {
  coredns: { module: `github.com/coredns/coredns v${coreDnsVersion}`, main: 'github.com/coredns/coredns' },
  'kube-router': {
    module: `github.com/cloudnativelabs/kube-router/v2 v${kubeRouterVersion}`,
    main: 'github.com/cloudnativelabs/kube-router/v2/cmd/kube-router',
  },
};

const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod', CGO_ENABLED: '0', GOBIN: binFolder };
const etcdMain = `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`;
/** The container that holds the namespaces of a pod: it waits for its end. */
const pauseMain = `package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
`;

/** Returns the path of a program that was built. */
export const program = (name) => join(binFolder, name);

const go = (cwd, ...args) => execFileSync('go', args, { cwd, env, encoding: 'utf8', maxBuffer: 1 << 26 });

/** Creates a folder with a Go module, and returns its path. */
function createModule(name, goMod, files = {}) {
  const folder = join(cacheFolder, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'go.mod'), goMod);
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), content);
  }
  return folder;
}

const importAll = (packages) =>
  `//go:build tools\n\npackage tools\n\nimport (\n${packages.map((each) => `\t_ "${each}"\n`).join('')})\n`;

async function runGo(title, cwd, args) {
  const { ok } = await runStep(title, 'go', ['-C', cwd, ...args], { quiet: true, env });
  if (!ok) throw new Error(`${title} failed: see the output above.`);
}

/** `go mod download` and `go install` need a module; this one has no other purpose. */
const createEmptyModule = () => createModule('module', 'module kubernetes-tools\n\ngo 1.25\n');

/** Collects the custom resource definitions of k8s/components. */
export function collectDefinitions() {
  mkdirSync(definitionsFolder, { recursive: true });
  const folder = createEmptyModule();
  for (const [module, files] of Object.entries(definitions)) {
    const { Dir } = JSON.parse(go(folder, 'mod', 'download', '-json', module));
    for (const file of files) {
      const lines = readFileSync(join(Dir, file), 'utf8').split('\n');
      // cert-manager publishes templates of Helm: without the labels they are plain definitions.
      writeFileSync(join(definitionsFolder, basename(file)), lines.filter((line) => !line.includes('{{')).join('\n'));
    }
  }
}

/** Builds kubectl-validate, if it does not exist yet. */
export async function buildValidator() {
  if (existsSync(program('kubectl-validate'))) return;
  await runGo('Building kubectl-validate', createEmptyModule(), ['install', validator]);
}

/** Returns the go.mod with which the packages of Kubernetes build outside its repository: it replaces its own modules. */
function kubernetesModule() {
  const folder = createEmptyModule();
  const { GoMod } = JSON.parse(go(folder, 'mod', 'download', '-json', `k8s.io/kubernetes@v${kubernetesVersion}`));
  const staged = [...readFileSync(GoMod, 'utf8').matchAll(/^\s+(k8s\.io\/[a-z0-9-]+) => \.\/staging/gm)];
  const version = `v0.${kubernetesVersion.slice(2)}`;
  const replaced = staged.map(([, module]) => `\t${module} => ${module} ${version}\n`).join('');
  return `module servers\n\ngo 1.25.0\n\ngodebug default=go1.25\n\nrequire k8s.io/kubernetes v${kubernetesVersion}\n\nreplace (\n${replaced})\n`;
}

const packageOf = (name) => {
  if (name === 'etcd' || name === 'pause') return `./${name}`;
  return ownModules[name]?.main ?? `k8s.io/kubernetes/cmd/${name}`;
};

/** Creates the module of a program that has its own. Returns its folder. */
async function createOwnModule(name) {
  const { module, main } = ownModules[name];
  const goMod = `module ${name}-server\n\ngo 1.25.0\n\nrequire ${module}\n`;
  const folder = createModule(name, goMod, { 'tools.go': importAll([main]) });
  await runGo(`Resolving the modules of ${name}`, folder, ['mod', 'tidy']);
  return folder;
}

/** Builds those of these programs that do not exist yet. The first build takes minutes for each. */
export async function buildServers(names) {
  const missing = names.filter((name) => !existsSync(program(name)));
  if (missing.length === 0) return;
  const fromKubernetes = [...apiServerPrograms, ...nodePrograms].filter((name) =>
    packageOf(name).startsWith('k8s.io/'),
  );
  const servers = createModule('servers', kubernetesModule(), {
    'tools.go': importAll(['go.etcd.io/etcd/server/v3/etcdmain', ...fromKubernetes.map(packageOf)]),
    'etcd/main.go': etcdMain,
    'pause/main.go': pauseMain,
  });
  await runGo('Resolving the modules of Kubernetes', servers, ['mod', 'tidy']);
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=v${kubernetesVersion}`;
  for (const name of missing) {
    const folder = name in ownModules ? await createOwnModule(name) : servers;
    const args = ['build', '-trimpath', '-ldflags', flags, '-o', program(name), packageOf(name)];
    await runGo(`Building ${name}`, folder, args);
  }
}
