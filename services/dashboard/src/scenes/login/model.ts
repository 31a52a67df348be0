import { ApiFailure } from '@fleet/api-client';
import type { TFunction } from 'i18next';

/** Returns the sentence for a failed log-in: unknown names and wrong passwords have the same one. */
export function describeLoginFailure(error: unknown, t: TFunction<'login'>): string {
  if (!(error instanceof ApiFailure)) return t('failure.unknown');
  switch (error.code) {
    case 'invalid_credentials':
      return t('failure.credentials');
    case 'two_factor_required':
      return t('failure.secondFactor');
    case 'account_suspended':
      return t('failure.suspended');
    case 'network_failure':
      return t('failure.network');
    case 'rate_limited':
      return t('failure.tooMany', { minutes: Math.ceil((error.retryAfterSeconds ?? 60) / 60) });
    default:
      return error.message;
  }
}
