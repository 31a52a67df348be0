import { partnerCodes } from '@fleet/bus';
import type { AppError } from '@fleet/service-kit';

/** Response of the command channel. */
export interface PartnerAnswer {
  readonly code: number;
  readonly msg: string;
  readonly data: unknown;
}

/**
 * Returns the hub's code of an error. Results of a device have HTTP status 200, as in the hub; invalid requests have
 * the usual status.
 */
export function partnerCodeOf({ code, status }: AppError): { code: number; isOfDevice: boolean } {
  switch (code) {
    case 'device_not_connected':
      return { code: partnerCodes.offline, isOfDevice: true };
    case 'device_timeout':
      return { code: partnerCodes.timedOut, isOfDevice: true };
    case 'upstream_error':
    case 'camera_busy':
    case 'state_conflict':
    case 'quota_exceeded':
      return { code: partnerCodes.refused, isOfDevice: true };
    // Nothing was sent: the token is valid, so 1004 would mislead.
    case 'permission_denied':
      return { code: partnerCodes.refused, isOfDevice: false };
    default:
      return { code: codeOfStatus(status), isOfDevice: false };
  }
}

function codeOfStatus(status: number): number {
  if (status === 401 || status === 403) return partnerCodes.token;
  if (status === 429) return partnerCodes.tooOften;
  return status < 500 ? partnerCodes.parameters : status;
}

/** Returns an error of the request in the hub's format, with the fields of `ApiError`. */
export const partnerError = (error: AppError): PartnerAnswer & { status: number; error: string } => ({
  code: partnerCodeOf(error).code,
  msg: error.message,
  data: null,
  status: error.status,
  error: error.message,
});
