import {
  appendPartnerReport,
  type PartnerReport,
  readTelemetryBatch,
  TelemetryBatch,
  type TelemetryReport,
} from '@fleet/bus';
import {
  type BodyOf,
  type Edition,
  encodeMessage,
  FrameSplitter,
  type LocationReport,
  type MessageDefinition,
} from '@fleet/jt808';
import { advanceOdometer } from '../domains/positions/odometer.ts';
import { rules } from '../rules/index.ts';
import type { DecodedHeartbeat, DecodedReport } from '../telemetry/decode.ts';
import type { Judges, Place } from '../telemetry/judge.ts';

/** Device time of second 0, and how long a report is under way. */
export const startMs = Date.parse('2026-01-31T02:00:00.000Z');
export const wayMs = 500;
export const imei = '138000000001';

/** `YYYY-MM-DDThh:mm:ss` on a terminal's clock of +08:00. */
export const cameraTime = (ms: number): string => new Date(ms + 8 * 3_600_000).toISOString().slice(0, 19);

/** A terminal's report of second 0: a car that drives with a fix. */
export const locationOf = (more: Partial<LocationReport> = {}): LocationReport => ({
  alarm: 0,
  status: 0b11,
  latitudeDeg: 22.5,
  longitudeDeg: 114,
  altitudeM: 20,
  speedKmh: 40,
  directionDeg: 90,
  time: cameraTime(startMs),
  extras: [],
  ...more,
});

/** How a message comes. */
interface Way {
  readonly phone?: string;
  readonly edition?: Edition;
  readonly receivedAtMs?: number;
}

/** A message on its way from the terminal's frames to the entry of a batch, as the gateway makes it. */
export function sent<D extends MessageDefinition>(
  definition: D,
  body: BodyOf<D>,
  { phone = imei, edition = '2013', receivedAtMs = startMs + wayMs }: Way = {},
): TelemetryReport {
  const batch = new TelemetryBatch();
  const index = { '2011': 0, '2013': 1, '2019': 2 } as const;
  const splitter = new FrameSplitter();
  for (const bytes of encodeMessage(definition, body, { edition, phone, serial: 7 }))
    splitter.push(bytes, (frame) => {
      const { phoneBytes } = frame.toAddress();
      batch.append(index[edition], phoneBytes, frame.messageId, frame.serial, receivedAtMs, frame.body);
    });
  return only(batch);
}

/** What a partner's server has sent for a device, on the same way. */
export function pushed(report: PartnerReport, number = imei, receivedAtMs = startMs + wayMs): TelemetryReport {
  const batch = new TelemetryBatch();
  appendPartnerReport(batch, number, receivedAtMs, report);
  return only(batch);
}

function only(batch: TelemetryBatch): TelemetryReport {
  const [report, ...more] = readTelemetryBatch(batch.take());
  if (report === undefined || more.length > 0) throw new Error(`${more.length + 1} entries, not one`);
  return report;
}

/** A report of some second, decoded. */
export function decodedAt(
  second: number,
  {
    position,
    ...more
  }: Partial<Omit<DecodedReport, 'position'>> & { position?: Partial<DecodedReport['position']> } = {},
): DecodedReport {
  const deviceMs = startMs + second * 1_000;
  return {
    kind: 'position',
    imei,
    accountId: null,
    edition: '2013',
    serialNo: 7,
    alarmWord: 0,
    statusWord: 0b11,
    extras: [],
    hash: `at-${second}`,
    receivedAtMs: deviceMs + wayMs,
    deviceTime: cameraTime(deviceMs),
    isStored: false,
    ...more,
    position: {
      imei,
      latitude: 22.5,
      longitude: 114,
      altitude: 20,
      speed: 40,
      course: 90,
      gpsValid: true,
      satellites: 9,
      signal: null,
      ignition: true,
      odometerKm: null,
      fuelL: null,
      batteryPercent: null,
      externalVoltage: null,
      source: 'jt808',
      ...position,
    },
  };
}

/** The same of a partner's device. */
export const pushedAt = (second: number, position: Partial<DecodedReport['position']> = {}): DecodedReport => ({
  ...decodedAt(second, { accountId: 1, edition: 'partner', position: { source: 'partner', ...position } }),
  deviceTime: startMs + second * 1_000,
});

/** A heartbeat of some second. */
export const heartbeatAt = (second: number, told: Partial<DecodedHeartbeat> = {}): DecodedHeartbeat => ({
  kind: 'heartbeat',
  imei,
  accountId: 1,
  shownImei: imei,
  receivedAtMs: startMs + second * 1_000 + wayMs,
  timestamp: startMs + second * 1_000,
  ignition: null,
  batteryPercent: null,
  externalVoltage: null,
  signal: null,
  ...told,
});

/** A place in a stream, and the rules of the house; nothing is in the history yet. */
export const placeAt = (seq: number): Place => ({ stream: 'made', seq });
export const judges: Judges = { rules, odometer: advanceOdometer, isKnown: () => false };
