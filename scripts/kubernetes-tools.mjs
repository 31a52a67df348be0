// Builds kubectl-validate and collects the custom resource definitions of k8s/components, all from Go modules, into
// .cache/kubernetes: the tests of deploy/manifests then validate every manifest against its schema. Takes a few minutes
// and needs Go. Tests use promtool from the PATH or from .cache/kubernetes/bin.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from './steps.mjs';

const folder = join(root, '.cache', 'kubernetes');
const validator = 'sigs.k8s.io/kubectl-validate@v0.0.4';
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

const env = { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0', GOBIN: join(folder, 'bin') };
for (const name of ['bin', 'definitions', 'module']) mkdirSync(join(folder, name), { recursive: true });
// `go mod download` needs a module; this one has no other purpose.
const cwd = join(folder, 'module');
writeFileSync(join(cwd, 'go.mod'), 'module kubernetes-tools\n\ngo 1.25\n');

for (const [module, files] of Object.entries(definitions)) {
  const { Dir } = JSON.parse(execFileSync('go', ['mod', 'download', '-json', module], { cwd, env, encoding: 'utf8' }));
  for (const file of files) copyFileSync(join(Dir, file), join(folder, 'definitions', basename(file)));
}
execFileSync('go', ['install', validator], { cwd, env, stdio: 'inherit' });
console.log(`kubectl-validate and the definitions are in ${folder}`);
