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
import type { DecodedHeartbeat, DecodedReport } from '../telemetry/decode-report.ts';
import type { Evaluators, StateOrigin } from '../telemetry/evaluate-report.ts';
import { defaultThresholds } from './thresholds.ts';

/** Device time of second 0, and the transmission time of a report. */
export const startMs = Date.parse('2026-01-31T02:00:00.000Z');
export const transmissionMs = 500;
export const imei = '138000000001';

/** Formats a time as `YYYY-MM-DDThh:mm:ss` in the terminal's time zone of +08:00. */
export const cameraTime = (ms: number): string => new Date(ms + 8 * 3_600_000).toISOString().slice(0, 19);

/** Returns a terminal's report of second 0: a driving car with a fix. */
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

/** Origin and time of a message. */
interface MessageOrigin {
  readonly phone?: string;
  readonly edition?: Edition;
  readonly receivedAtMs?: number;
}

/** Encodes a message as frames of the terminal and returns the entry of the batch that the gateway creates. */
export function fromTerminal<D extends MessageDefinition>(
  definition: D,
  body: BodyOf<D>,
  { phone = imei, edition = '2013', receivedAtMs = startMs + transmissionMs }: MessageOrigin = {},
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

/** Returns the batch entry of data that a partner's server sent for a device. */
export function fromPartner(
  report: PartnerReport,
  number = imei,
  receivedAtMs = startMs + transmissionMs,
): TelemetryReport {
  const batch = new TelemetryBatch();
  appendPartnerReport(batch, number, receivedAtMs, report);
  return only(batch);
}

function only(batch: TelemetryBatch): TelemetryReport {
  const [report, ...more] = readTelemetryBatch(batch.take());
  if (report === undefined || more.length > 0) throw new Error(`${more.length + 1} entries, not one`);
  return report;
}

/** Returns the decoded report of a second. */
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
    receivedAtMs: deviceMs + transmissionMs,
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

/** Returns the decoded report of a partner's device. */
export const partnerReportAt = (second: number, position: Partial<DecodedReport['position']> = {}): DecodedReport => ({
  ...decodedAt(second, { accountId: 1, edition: 'partner', position: { source: 'partner', ...position } }),
  deviceTime: startMs + second * 1_000,
});

/** Returns the decoded heartbeat of a second. */
export const heartbeatAt = (second: number, heartbeat: Partial<DecodedHeartbeat> = {}): DecodedHeartbeat => ({
  kind: 'heartbeat',
  imei,
  accountId: 1,
  displayImei: imei,
  receivedAtMs: startMs + second * 1_000 + transmissionMs,
  timestamp: startMs + second * 1_000,
  ignition: null,
  batteryPercent: null,
  externalVoltage: null,
  signal: null,
  ...heartbeat,
});

/** Returns an offset in a stream. */
export const originAt = (seq: number): StateOrigin => ({ stream: 'made', seq });
/** All rules and the odometer; no report is in the history yet. */
export const evaluators: Evaluators = {
  rules,
  odometer: (before, position) => advanceOdometer(before, position, defaultThresholds),
  isKnown: () => false,
};
