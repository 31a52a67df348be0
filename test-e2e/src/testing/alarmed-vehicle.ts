import { type AdditionalItem, additionalItemDefinitions, createAdditionalItem } from '@fleet/jt808';
import { type ReportRecord, type SimulatedTerminal, toCameraTime, toEpochMs } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { type ProductHarness, uniquePhone } from './harness.ts';
import type { PlatformClient, PlatformRecord } from './platform-client.ts';

/** Expected content of one notification. */
export interface AlarmReceipt {
  readonly type: string;
  /** `enter` or `exit` of a geofence. */
  readonly event: string | null;
  /** Device time, in milliseconds. */
  readonly timestamp: number;
  /** Number of alarms that are folded into it. */
  readonly count: number;
  readonly endedAt: string | null;
}

/**
 * Bits of the alarm word (JT/T 808-2013 table 24) that a 2013 terminal may set, and the resulting types. `overspeed`
 * and the bits with an area or route have their own tests.
 */
export const wordAlarms: ReadonlyMap<number, string> = new Map([
  [0, 'sos'],
  [2, 'fatigue_driving'],
  [4, 'gnss_fault'],
  [5, 'gnss_antenna_disconnected'],
  [6, 'gnss_antenna_short'],
  [7, 'power_low'],
  [8, 'power_cut'],
  [9, 'display_fault'],
  [10, 'tts_fault'],
  [11, 'camera_fault'],
  [12, 'ic_card_fault'],
  [13, 'overspeed_warning'],
  [14, 'fatigue_warning'],
  [18, 'driving_overtime'],
  [19, 'parking_overtime'],
  [24, 'speed_sensor_fault'],
  [25, 'fuel_abnormal'],
  [26, 'vehicle_theft'],
  [29, 'collision'],
  [30, 'rollover'],
]);

/** Notification types of `activeSafety`, `loseVideo` and `drive`. */
const otherTypes = { adas: 'adas_forward_collision', dsm: 'dsm_phone', video: 'video_signal_loss', area: 'geofence' };
const alarmTypes: ReadonlySet<string> = new Set([...wordAlarms.values(), ...Object.values(otherTypes)]);

/** An alarm that is raised again within this time is one event: docs/reference/notifications.md. */
const dedupeWindowMs = 30_000;
/** The platform has to recover within this time on a busy machine. */
const acknowledgeTimeoutMs = 240_000;

/** Positions inside and outside the geofence of the tests. */
export const positions = { inside: 22.55, outside: 22.6, longitude: 114.06, radiusM: 300 } as const;

/** Folds alarms of one type within 30 seconds into one notification, by the times at which they rose. */
function dedupeAlarms(type: string, risesMs: readonly number[]): AlarmReceipt[] {
  const receipts: AlarmReceipt[] = [];
  for (const timestamp of risesMs) {
    const first = receipts.at(-1);
    if (first === undefined || timestamp - first.timestamp > dedupeWindowMs)
      receipts.push({ type, event: null, timestamp, count: 1, endedAt: null });
    else receipts[receipts.length - 1] = { ...first, count: first.count + 1 };
  }
  return receipts;
}

/** Returns the times of the reports in which a bit is set and was not set before. */
function findRises(bit: number, reports: readonly ReportRecord[]): number[] {
  const isUp = (report: ReportRecord | undefined): boolean => (((report?.alarm ?? 0) >>> bit) & 1) === 1;
  return reports.flatMap((report, index) =>
    isUp(report) && !isUp(reports[index - 1]) ? [toEpochMs(report.time)] : [],
  );
}

/** Sorts receipts so that lists can be compared. */
export const sortReceipts = (receipts: readonly AlarmReceipt[]): AlarmReceipt[] =>
  receipts.toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));

/**
 * A vehicle whose terminal sends a report only after the previous one is acknowledged. No report is late, so the
 * expected alarms are known.
 */
export class AlarmedVehicle {
  readonly id: number;
  readonly terminal: SimulatedTerminal;
  readonly #position: { latitudeDeg: number; longitudeDeg: number };
  /** Items that every report carries while an alarm lasts. */
  #activeItems: readonly AdditionalItem[] = [];
  /** Expected notifications that do not result from the alarm word. */
  readonly #otherReceipts: AlarmReceipt[] = [];
  #alarmId = 0;

  private constructor(
    id: number,
    terminal: SimulatedTerminal,
    position: { latitudeDeg: number; longitudeDeg: number },
  ) {
    this.id = id;
    this.terminal = terminal;
    this.#position = position;
  }

  static async start(harness: ProductHarness, client: PlatformClient, name: string): Promise<AlarmedVehicle> {
    const phone = uniquePhone();
    const { id } = await client.requestData('/vehicles', { vehicle_no: name, imei: phone });
    const position = {
      latitudeDeg: positions.outside,
      longitudeDeg: positions.longitude,
      altitudeM: 10,
      speedKmh: 0,
      directionDeg: 0,
      distanceM: 0,
      isIgnitionOn: true,
    };
    const terminal = await harness.startTerminal({
      phone,
      reportIntervalMs: 0,
      reconnect: { minMs: 200, maxMs: 1_000 },
      replyTimeoutMs: 3_000,
      // The expectation is computed from all reports of a campaign.
      logLimit: 100_000,
      track: { name: 'held', at: () => position },
    });
    return new AlarmedVehicle(Number(id), terminal, position);
  }

  /** Sends a report one step further on and waits for its acknowledgement. */
  async report(item?: AdditionalItem): Promise<ReportRecord> {
    this.#position.longitudeDeg += 0.000_01;
    return this.#waitForAcknowledgement(
      this.terminal.report(item === undefined ? this.#activeItems : [...this.#activeItems, item]),
    );
  }

  /** Raises a bit of the alarm word. Bits that an acknowledgement clears stay clear afterwards. */
  async raise(bit: number): Promise<void> {
    this.#position.longitudeDeg += 0.000_01;
    await this.#waitForAcknowledgement(this.terminal.raiseAlarm(bit));
  }

  /** Starts a driver assistance or driver state alarm (T/JSATL 12-2017). Returns a function that ends it. */
  async startSafetyAlarm(kind: 'adas' | 'dsm'): Promise<() => Promise<void>> {
    this.#alarmId += 1;
    const alarmId = this.#alarmId;
    const timestamp = await this.#sendSafety(kind, alarmId, 1);
    const index =
      this.#otherReceipts.push({ type: otherTypes[kind], event: null, timestamp, count: 1, endedAt: null }) - 1;
    return async () => {
      const endedMs = await this.#sendSafety(kind, alarmId, 2);
      const started = this.#otherReceipts[index] as AlarmReceipt;
      this.#otherReceipts[index] = { ...started, endedAt: new Date(endedMs).toISOString() };
    };
  }

  /** Reports the loss of a camera signal until `regainVideo`. */
  async loseVideo(): Promise<void> {
    this.#activeItems = [
      createAdditionalItem(additionalItemDefinitions.videoAlarm, { videoAlarm: 1 }),
      createAdditionalItem(additionalItemDefinitions.videoLoss, { videoLossChannels: 0b10 }),
    ];
    this.#addReceipt(otherTypes.video, null, await this.report());
  }

  async regainVideo(): Promise<void> {
    this.#activeItems = [];
    await this.report();
  }

  /** Drives into or out of the geofence; the next report confirms the crossing. */
  async drive(where: 'inside' | 'outside'): Promise<void> {
    this.#position.latitudeDeg = positions[where];
    this.#addReceipt(otherTypes.area, where === 'inside' ? 'enter' : 'exit', await this.report());
  }

  /** Returns the notifications that the platform has to create from the acknowledged reports. */
  getExpectedReceipts(): AlarmReceipt[] {
    const reports = this.terminal.acknowledgedReports;
    return sortReceipts([
      ...[...wordAlarms].flatMap(([bit, type]) => dedupeAlarms(type, findRises(bit, reports))),
      ...this.#otherReceipts,
    ]);
  }

  /** Lists its alarm notifications on the platform. */
  async listNotifications(client: PlatformClient): Promise<PlatformRecord[]> {
    const listed = await client.listAll(`/notifications?vehicle_id=${this.id}`);
    return listed.filter((each) => alarmTypes.has(String(each['notification_type'])));
  }

  async #waitForAcknowledgement(record: ReportRecord): Promise<ReportRecord> {
    const what = `report ${record.id} of ${this.terminal.phone} to be acknowledged`;
    await waitFor(() => record.acknowledgedAtMs !== null, what, acknowledgeTimeoutMs);
    return record;
  }

  async #sendSafety(kind: 'adas' | 'dsm', alarmId: number, flag: 1 | 2): Promise<number> {
    const time = toCameraTime(Date.now());
    const { latitudeDeg, longitudeDeg } = this.#position;
    const tag = { terminalId: 'T1', time, seq: 0, attachmentCount: 0, reserved: Buffer.alloc(1) };
    const where = { speedKmh: 0, altitudeM: 10, latitudeDeg, longitudeDeg, time, vehicleStatus: 1, tag };
    const front = { frontSpeedKmh: 40, frontDistance100ms: 12, deviationType: 0, signType: 0, signData: 0 };
    const head = { alarmId, flag, level: 1, ...where };
    const item =
      kind === 'adas'
        ? createAdditionalItem(additionalItemDefinitions.adasAlarm, { ...head, type: 1, ...front })
        : createAdditionalItem(additionalItemDefinitions.dsmAlarm, {
            ...head,
            type: 2,
            fatigueLevel: 5,
            reserved: Buffer.alloc(4),
          });
    await this.report(item);
    return toEpochMs(time);
  }

  #addReceipt(type: string, event: string | null, record: ReportRecord): void {
    this.#otherReceipts.push({ type, event, timestamp: toEpochMs(record.time), count: 1, endedAt: null });
  }
}

/** Converts notifications to receipts, in the order of `getExpectedReceipts`. */
export const toReceipts = (notifications: readonly PlatformRecord[]): AlarmReceipt[] =>
  sortReceipts(
    notifications.map(({ notification_type: type, timestamp, attributes }) => {
      const { event = null, count = 1, ended_at: endedAt = null } = attributes as PlatformRecord;
      return { type, event, timestamp, count, endedAt } as AlarmReceipt;
    }),
  );
