import { AppError, type SignatureVerdict } from '@fleet/service-kit';

/** Refuses a URL that nobody has signed; `what` it opens is named in the answer. */
export function authorize(verdict: SignatureVerdict, what: string): void {
  if (verdict === 'valid') return;
  if (verdict === 'missing') throw new AppError('api_key_missing', `The URL of ${what} has to be signed.`);
  const message = verdict === 'expired' ? 'The URL has expired.' : 'The signature of the URL is not valid.';
  throw new AppError('permission_denied', message);
}
