import type { AdditionalItem } from '@fleet/jt808';
import type { LastLocation } from '../domains/last-positions/schema.ts';

/** One decoded position of a terminal or a partner. */
export interface Report {
  /** Canonical terminal number. */
  readonly imei: string;
  /** As the last position is stored; `timestamp` is the device's time in UTC, by the vehicle's `camera_utc_offset`. */
  readonly position: LastLocation;
  readonly edition: '2011' | '2013' | '2019' | 'partner';
  /** Serial number of the message, 0 from partners; reports of a 0x0704 have the batch's. */
  readonly serialNo: number;
  /** Alarm word of 0x0200 (JT/T 808-2013 table 24); 0 from partners. */
  readonly alarmWord: number;
  /** Status word of 0x0200 (JT/T 808-2013 table 25); 0 from partners. */
  readonly statusWord: number;
  /** Additional items, raw; none from partners. */
  readonly extras: readonly AdditionalItem[];
  /** Identifies the report together with imei and time: 8 bytes of a hash of the raw body, hex. */
  readonly hash: string;
  /** Older than the vehicle's newest report: it changes no state. */
  readonly isLate: boolean;
}
