import type { Container, EnvironmentVariable, Manifest } from './rendered-manifests.ts';

/** What the operator puts into Secrets, by key. */
type SecretValues = Readonly<Record<string, string>>;

/** Fields of the pod with index 0, as the kubelet fills them in. */
const fieldValues: Readonly<Record<string, string>> = {
  'metadata.name': 'pod-0',
  'metadata.namespace': 'fleet',
  'status.podIP': '10.0.0.1',
  "metadata.labels['apps.kubernetes.io/pod-index']": '0',
};

/** Returns the environment of a container in the pod with index 0, with its references resolved. */
export function resolveEnvironment(
  container: Container,
  manifests: readonly Manifest[],
  secrets: SecretValues,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const variable of container.env ?? []) {
    const value = variable.value ?? resolveReference(variable, manifests, secrets);
    if (value === undefined) continue;
    // Only variables that are defined earlier are replaced.
    environment[variable.name] = value.replaceAll(/\$\((\w+)\)/g, (whole, name: string) => environment[name] ?? whole);
  }
  return environment;
}

function resolveReference(
  { name, valueFrom = {} }: EnvironmentVariable,
  manifests: readonly Manifest[],
  secrets: SecretValues,
): string | undefined {
  const { secretKeyRef, configMapKeyRef, fieldRef } = valueFrom;
  if (secretKeyRef !== undefined) {
    const value = secrets[secretKeyRef.key];
    if (value === undefined && secretKeyRef.optional !== true) throw new Error(`the Secret lacks ${secretKeyRef.key}`);
    return value;
  }
  const value =
    configMapKeyRef === undefined
      ? fieldValues[fieldRef?.fieldPath ?? '']
      : manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapKeyRef.name)?.data?.[
          configMapKeyRef.key
        ];
  if (value === undefined) throw new Error(`${name} refers to a value that does not exist`);
  return value;
}
