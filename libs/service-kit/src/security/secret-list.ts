/**
 * Splits a setting with several secrets, separated by commas. The first one signs or encrypts, all verify or decrypt, so
 * that a secret is rotated without an outage.
 */
export const splitSecrets = (secrets: string): string[] =>
  secrets
    .split(',')
    .map((secret) => secret.trim())
    .filter((secret) => secret !== '');

/** Returns the secret that signs. Throws for a setting without one. */
export function firstSecret(secrets: string): string {
  const [first] = splitSecrets(secrets);
  if (first === undefined) throw new Error('a setting for secrets contains none');
  return first;
}

interface SecretRules {
  readonly minLength: number;
  /** The published default, which production refuses. */
  readonly developmentSecret?: string;
  readonly isProduction: boolean;
}

/** Returns what is wrong with a setting of one or several secrets; undefined if nothing is. */
export function findSecretFault(
  name: string,
  secrets: string,
  { minLength, developmentSecret, isProduction }: SecretRules,
): string | undefined {
  const list = splitSecrets(secrets);
  if (list.length === 0 || list.some(({ length }) => length < minLength))
    return `${name} has a secret of fewer than ${minLength} characters. Set longer ones, separated by commas.`;
  if (isProduction && developmentSecret !== undefined && list.includes(developmentSecret))
    return `${name} has its development value. Set your own.`;
  return undefined;
}
