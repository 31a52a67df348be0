import { randomBytes } from 'node:crypto';
import { type ErrorDetail, validationError } from '@fleet/service-kit';
import type { CustomHeader, WebhookHealth } from '@fleet/storage';
import type { Webhook } from './schema.ts';

/** Creates a secret in the format of Standard Webhooks. */
export const createSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export const secretHint = (secret: string): string => secret.slice(-4);

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Headers that the platform sets itself, and those that affect how the request is transmitted. */
const forbidden = new Set([
  'host',
  'connection',
  'user-agent',
  'x-webhook-secret',
  'transfer-encoding',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
]);
const forbiddenStarts = ['content-', 'webhook-', 'proxy-'];

/**
 * Returns custom headers in their stored form. Throws 400 for a name that is invalid, repeated, or set by the platform.
 */
export function toStoredHeaders(headers: Readonly<Record<string, string>>): CustomHeader[] {
  const seen = new Set<string>();
  const faults: ErrorDetail[] = [];
  for (const name of Object.keys(headers)) {
    const lower = name.toLowerCase();
    const path = `/headers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!headerName.test(name)) faults.push({ path, message: 'must be a valid header name' });
    else if (forbidden.has(lower) || forbiddenStarts.some((start) => lower.startsWith(start)))
      faults.push({ path, message: 'is set by the platform' });
    else if (seen.has(lower)) faults.push({ path, message: 'is given more than once' });
    seen.add(lower);
  }
  if (faults.length > 0) throw validationError(faults);
  return Object.entries(headers).map(([name, value]) => ({ name, value }));
}

/** Returns the current status of a webhook. */
export const toStatus = (
  { enabled }: Pick<Webhook, 'enabled'>,
  { disabledReason, failingSince }: Pick<WebhookHealth, 'disabledReason' | 'failingSince'>,
) =>
  !enabled || disabledReason !== null
    ? ('disabled' as const)
    : failingSince !== null
      ? ('failing' as const)
      : ('active' as const);
