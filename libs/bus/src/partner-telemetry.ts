import type { TelemetryBatch, TelemetryReport } from './telemetry.ts';

/** A position that a partner's server sent for a device (platform-contract.md, section 18), in our units. */
export interface PartnerPosition {
  readonly latitude: number;
  readonly longitude: number;
  /** The device's time of the position, ms since 1970. */
  readonly timestamp: number;
  /** km/h */
  readonly speed: number;
  /** Degrees from north. */
  readonly course: number;
  /** m */
  readonly altitude: number | null;
  readonly satellites: number | null;
  readonly ignition: boolean | null;
  readonly odometerKm: number | null;
  readonly batteryPercent: number | null;
  /** °C */
  readonly temperatureC: number | null;
  /** The partner's own id of the driver. */
  readonly driver: string | null;
  /** Sent later than it was taken. */
  readonly backfilled: boolean;
}

/** A heartbeat that a partner's server sent for a device: the vendor's own values under the vendor's names. */
export interface PartnerHeartbeat {
  /** ms since 1970 */
  readonly timestamp: number;
  readonly values: Readonly<Record<string, number>>;
}

/** What a partner's server reports of a device, whose canonical number stands in the entry. */
export type PartnerReport =
  | { readonly kind: 'position'; readonly accountId: number; readonly position: PartnerPosition }
  | { readonly kind: 'heartbeat'; readonly accountId: number; readonly heartbeat: PartnerHeartbeat };

/** As the same things are in JT/T 808: location report and heartbeat. */
const messageIds = { position: 0x0200, heartbeat: 0x0002 } as const;
const partnerEdition = 3;

/** Appends a partner's report to a batch: edition `partner`, 20 digits of the number, message id 0x0200 or 0x0002, serial number 0, and JSON as the body. */
export function appendPartnerReport(
  batch: TelemetryBatch,
  imei: string,
  receivedAtMs: number,
  report: PartnerReport,
): void {
  const phoneBcd = Buffer.from(imei.padStart(20, '0'), 'hex');
  batch.append(partnerEdition, phoneBcd, messageIds[report.kind], 0, receivedAtMs, Buffer.from(JSON.stringify(report)));
}

/** Reads the body of an entry; null for one of a terminal. */
export function parsePartnerReport({ edition, body }: Pick<TelemetryReport, 'edition' | 'body'>): PartnerReport | null {
  return edition === 'partner' ? (JSON.parse(body.toString()) as PartnerReport) : null;
}
