import { partnerCodes } from '@fleet/bus';
import type { AppError } from '@fleet/service-kit';

/** Response of the command channel. */
export interface PartnerResponse {
  readonly code: number;
  readonly msg: string;
  readonly data: unknown;
}

/**
 * Returns the hub's code of an error. Results of a device have HTTP status 200, as in the hub; invalid requests have
 * the usual status.
 */
export function toPartnerCode({ code, status }: AppError): { code: number; isDeviceOutcome: boolean } {
  switch (code) {
    case 'device_not_connected':
      return { code: partnerCodes.offline, isDeviceOutcome: true };
    case 'device_timeout':
      return { code: partnerCodes.timedOut, isDeviceOutcome: true };
    case 'upstream_error':
    case 'camera_busy':
    case 'state_conflict':
    case 'quota_exceeded':
    case 'data_budget_spent':
      return { code: partnerCodes.refused, isDeviceOutcome: true };
    // Nothing was sent: the token is valid, so 1004 would mislead.
    case 'permission_denied':
      return { code: partnerCodes.refused, isDeviceOutcome: false };
    default:
      return { code: statusToPartnerCode(status), isDeviceOutcome: false };
  }
}

function statusToPartnerCode(status: number): number {
  if (status === 401 || status === 403) return partnerCodes.token;
  if (status === 429) return partnerCodes.tooOften;
  return status < 500 ? partnerCodes.parameters : status;
}

/** Returns an error of the request in the hub's format, with the fields of `ApiError`. */
export const toPartnerError = (error: AppError): PartnerResponse & { status: number; error: string } => ({
  code: toPartnerCode(error).code,
  msg: error.message,
  data: null,
  status: error.status,
  error: error.message,
});
