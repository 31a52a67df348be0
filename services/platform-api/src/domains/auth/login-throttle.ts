import { createHash } from 'node:crypto';
import { AppError, minuteMs } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { normalizePhone } from '../../platform/phone.ts';
import { normalEmail } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import { findByEmail, findByPhone } from '../users/use-cases.ts';
import { countAttempt, deleteAttempts, revertAttempt } from './store.ts';

const maxFailures = 5;
const lockMs = 15 * minuteMs;

/** Returns the normal form of an identifier, so that failures with any spelling of it count together. */
export const normalizeIdentifier = (identifier: string): string =>
  identifier.includes('@') ? normalEmail(identifier) : (normalizePhone(identifier) ?? identifier.trim().toLowerCase());

/** Returns the user of a normalized identifier, in any account. */
export const findByIdentifier = (deps: Pick<Deps, 'records'>, identifier: string): Promise<User | null> =>
  identifier.includes('@') ? findByEmail(deps.records, identifier) : findByPhone(deps.records, identifier);

/** Throttles log-ins per identifier: five failures lock it for 15 minutes, whether the user exists or not. */
export class LoginThrottle {
  readonly #deps: Pick<Deps, 'database'>;
  readonly #id: string;

  private constructor(deps: Pick<Deps, 'database'>, id: string) {
    this.#deps = deps;
    this.#id = id;
  }

  /**
   * Counts the attempt before it runs, so that concurrent attempts do not bypass the limit. Throws 429 while the
   * identifier is locked.
   */
  static async begin(deps: Pick<Deps, 'database'>, identifier: string, now = new Date()): Promise<LoginThrottle> {
    const id = createHash('sha256').update(identifier).digest('hex');
    const { count, expiresAt } = await countAttempt(deps.database, id, lockMs, maxFailures, now);
    if (count <= maxFailures) return new LoginThrottle(deps, id);
    const seconds = Math.max(1, Math.ceil((expiresAt.getTime() - now.getTime()) / 1000));
    throw new AppError(
      'rate_limited',
      'Too many failed attempts. Log-in with this identifier is locked for some time.',
      {
        headers: { 'Retry-After': String(seconds) },
      },
    );
  }

  reset(): Promise<void> {
    return deleteAttempts(this.#deps.database, this.#id);
  }

  /** Uncounts an attempt whose password was right but whose second factor is missing. */
  revert(): Promise<void> {
    return revertAttempt(this.#deps.database, this.#id);
  }
}
