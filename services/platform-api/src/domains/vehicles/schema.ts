import type { RecordFields } from '../../store/records.ts';

export interface Vehicle extends RecordFields {
  readonly accountId: number;
  readonly ownerUserId: number;
  /** Upper case without spaces. */
  readonly vehicleNo: string;
  /** Canonical terminal number. */
  readonly imei: string;
  /** The terminal's own clock, `+HH:MM` or `-HH:MM`. */
  readonly cameraUtcOffset: string;
}
