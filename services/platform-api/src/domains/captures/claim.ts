import { randomUUID } from 'node:crypto';
import { runPeriodically } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { Capture } from './schema.ts';
import { renewClaim } from './store.ts';

/** A capture of a process that died is taken over after this time. */
const claimTtlMs = 6_000;
const renewIntervalMs = 1_500;

/** Thrown when another process has taken over a capture. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

/** Returns a claim on a capture that begins now. */
export const createClaim = (): Pick<Capture, 'claimToken' | 'leasedUntil'> => ({
  claimToken: randomUUID(),
  leasedUntil: claimEnd(),
});

/** Renews the claim on a capture until the returned function is called. */
export const startClaimRenewal = (
  { records, log }: Pick<Deps, 'records' | 'log'>,
  capture: Capture,
): (() => Promise<void>) =>
  runPeriodically(
    renewIntervalMs,
    () => renewClaim(records, capture, claimEnd()),
    (error) => log.warn({ err: error, captureId: capture.captureId }, 'could not renew the claim on a capture'),
  );

const claimEnd = (): Date => new Date(Date.now() + claimTtlMs);
