import type { TelemetryBatch, TelemetryReport } from './telemetry.ts';

/** A position that a partner's server sent for a device (docs/reference/partners.md), in our units. */
export interface PartnerPosition {
  readonly latitude: number;
  readonly longitude: number;
  /** Time of the position by the device's clock, ms since 1970. */
  readonly timestamp: number;
  /** km/h */
  readonly speed: number;
  /** Degrees clockwise from north. */
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
  /** Sent later than it was recorded. */
  readonly backfilled: boolean;
}

/** A heartbeat sent by a partner's server for a device: vendor values under vendor names. */
export interface PartnerHeartbeat {
  /** ms since 1970 */
  readonly timestamp: number;
  readonly values: Readonly<Record<string, number>>;
}

/** Report of a partner's server for a device; the batch entry holds the canonical number. */
export type PartnerReport =
  | { readonly kind: 'position'; readonly accountId: number; readonly position: PartnerPosition }
  | { readonly kind: 'heartbeat'; readonly accountId: number; readonly heartbeat: PartnerHeartbeat };

/** The corresponding JT/T 808 messages: location report and heartbeat. */
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

/** Parses the body of an entry; returns null for a terminal's entry. */
export function parsePartnerReport({ edition, body }: Pick<TelemetryReport, 'edition' | 'body'>): PartnerReport | null {
  return edition === 'partner' ? (JSON.parse(body.toString()) as PartnerReport) : null;
}
