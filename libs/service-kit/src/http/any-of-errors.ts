import type { ErrorObject } from 'ajv';

/**
 * Replaces the errors below an `anyOf` by those of the intended branch: the first one of the value's kind. Without such
 * a branch the error of the `anyOf` remains.
 */
export function selectAnyOfBranches(errors: readonly ErrorObject[]): ErrorObject[] {
  let selected: ErrorObject[] = [];
  // Errors of branches precede that of their `anyOf`.
  for (const error of errors) {
    // The error of `propertyNames` itself has the name.
    if (error.propertyName !== undefined && error.keyword !== 'propertyNames') continue;
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') {
      selected.push(error);
      continue;
    }
    const isBelow = ({ schemaPath, instancePath }: ErrorObject): boolean =>
      schemaPath.startsWith(`${error.schemaPath}/`) && isAtOrBelow(instancePath, error.instancePath);
    const matching = groupByBranch(selected.filter(isBelow), error).find(
      (branch) => !branch.some((candidate) => isTypeMismatch(candidate, error)),
    );
    selected = [...selected.filter((candidate) => !isBelow(candidate)), ...(matching ?? [error])];
  }
  return selected;
}

const isAtOrBelow = (path: string, parent: string): boolean => path === parent || path.startsWith(`${parent}/`);

/** Groups errors by the branch of an `anyOf`. */
function groupByBranch(errors: readonly ErrorObject[], { schemaPath: parent }: ErrorObject): ErrorObject[][] {
  const branches = new Map<string, ErrorObject[]>();
  for (const error of errors) {
    const branch = error.schemaPath.slice(parent.length + 1).split('/')[0] ?? '';
    branches.set(branch, [...(branches.get(branch) ?? []), error]);
  }
  return [...branches.values()];
}

const isTypeMismatch = ({ keyword, instancePath }: ErrorObject, { instancePath: parentPath }: ErrorObject): boolean =>
  instancePath === parentPath && ['type', 'const', 'enum', 'anyOf', 'oneOf'].includes(keyword);
