import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readJsonIfExists, writeJsonAtomically } from './atomic-file.ts';

/** Secrets of this data folder: created at the first start and retained, so that keys and device codes stay valid. */
export interface Secrets {
  gatewayAuthSecret: string;
  mediaSigningSecret: string;
  clipsSigningSecret: string;
  streamTokenSecret: string;
  /** Encrypts secrets that platform-api stores. Without it they cannot be decrypted. */
  encryptionKey: string;
  /** Secret of the generic receiver of SMS and voice. */
  chatGenericSecret: string;
  demoPassword: string;
  demoApiKey: string;
}

const random = (bytes: number): string => randomBytes(bytes).toString('base64url');

const generators: Record<keyof Secrets, () => string> = {
  gatewayAuthSecret: () => random(32),
  mediaSigningSecret: () => random(32),
  clipsSigningSecret: () => random(32),
  streamTokenSecret: () => random(32),
  encryptionKey: () => random(32),
  chatGenericSecret: () => random(24),
  demoPassword: () => random(18),
  demoApiKey: () => `fk_${random(32)}`,
};

/** Reads `secrets.json` and creates missing secrets. */
export function loadSecrets(dataDir: string): Secrets {
  const path = join(dataDir, 'secrets.json');
  const stored = readJsonIfExists(path);
  const storedSecrets =
    typeof stored === 'object' && stored !== null ? (stored as Partial<Record<string, unknown>>) : {};
  const entries = Object.entries(generators).map(([name, generate]) => {
    const value = storedSecrets[name];
    return [name, typeof value === 'string' && value !== '' ? value : generate()];
  });
  const secrets = Object.fromEntries(entries) as Secrets;
  if (JSON.stringify(secrets) !== JSON.stringify(stored)) writeJsonAtomically(path, secrets, 0o600);
  return secrets;
}
