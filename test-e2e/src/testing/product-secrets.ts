import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProductHarness } from './harness.ts';

/** Secrets with which a product signs. */
interface ProductSecrets {
  readonly mediaSigningSecret: string;
  readonly streamTokenSecret: string;
}

/** Returns the secrets that all replicas of a product share. */
export const readProductSecrets = ({ product }: ProductHarness): ProductSecrets =>
  JSON.parse(readFileSync(join(product.runtime.data_dir, 'secrets.json'), 'utf8')) as ProductSecrets;
