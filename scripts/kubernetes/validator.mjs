// Builds kubectl-validate and collects the custom resource definitions of k8s/components, all from Go modules, into
// .cache/kubernetes: the tests of deploy/manifests then validate every manifest against its schema. Takes a few minutes
// and needs Go. Tests use promtool from the PATH or from .cache/kubernetes/bin.
import { buildValidator, cacheFolder, collectDefinitions } from './tools.mjs';

collectDefinitions();
await buildValidator();
console.log(`kubectl-validate and the definitions are in ${cacheFolder}`);
