import { ApiFailure } from '@fleet/api-client';
import type { TFunction } from 'i18next';

/** Returns the sentence for a failed log-in: unknown names and wrong passwords have the same one. */
export function describeLoginFailure(error: unknown, t: TFunction<'login'>, language: string): string {
  if (!(error instanceof ApiFailure)) return t('failure.unknown');
  switch (error.code) {
    case 'invalid_credentials':
      return t('failure.credentials');
    case 'two_factor_required':
      return t('failure.secondFactor');
    case 'token_invalid':
      return t('failure.usedLink');
    case 'account_suspended':
      return t('failure.suspended');
    case 'network_failure':
      return t('failure.network');
    case 'rate_limited':
      return t('failure.lockedUntil', { time: formatLockEnd(error.retryAfterSeconds ?? 60, language) });
    default:
      return error.message;
  }
}

/** Returns the minute after which the next attempt is accepted, such as "14:20". */
function formatLockEnd(seconds: number, language: string, nowMs = Date.now()): string {
  // Rounded up, so that an attempt at that time is not too early.
  const minuteMs = 60_000;
  const endMs = Math.ceil((nowMs + seconds * 1000) / minuteMs) * minuteMs;
  return new Intl.DateTimeFormat(language, { timeStyle: 'short' }).format(endMs);
}
