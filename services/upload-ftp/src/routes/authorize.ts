import { AppError, type SignatureVerdict } from '@fleet/service-kit';

/** Throws unless the signature of the URL is valid. The error message names `what` the URL refers to. */
export function authorize(verdict: SignatureVerdict, what: string): void {
  if (verdict === 'valid') return;
  if (verdict === 'missing') throw new AppError('api_key_missing', `The URL of ${what} must be signed.`);
  const message = verdict === 'expired' ? 'The URL has expired.' : 'The signature of the URL is not valid.';
  throw new AppError('permission_denied', message);
}
