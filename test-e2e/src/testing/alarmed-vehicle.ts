import { type Extra, extraDefinitions, makeExtra } from '@fleet/jt808';
import { cameraTimeOf, epochOf, type ReportRecord, type SimulatedTerminal } from '@fleet/terminal-simulator';
import type { PlatformClient, Shown } from './platform-client.ts';
import { until } from './until.ts';
import { newPhone, type World } from './world.ts';

/** What one notification has to say. */
export interface AlarmTold {
  readonly type: string;
  /** `enter` or `exit` of an area. */
  readonly event: string | null;
  /** Device time, ms. */
  readonly timestamp: number;
  /** Alarms that it stands for. */
  readonly count: number;
  readonly endedAt: string | null;
}

/** Bits of the alarm word (JT/T 808-2013 table 24) that a 2013 terminal may have, and what they become. `overspeed` and those with an area or route have tests of their own. */
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

/** Types of `activeSafety`, `loseVideo` and `drive`. */
const otherTypes = { adas: 'adas_forward_collision', dsm: 'dsm_phone', video: 'video_signal_loss', area: 'geofence' };
const alarmTypes: ReadonlySet<string> = new Set([...wordAlarms.values(), ...Object.values(otherTypes)]);

/** Platform-contract.md, section 13.2. */
const foldMs = 30_000;
/** The platform has to be whole again within this time, on a machine that is busy. */
const acknowledgedMs = 240_000;

/** Where the area of the tests is, and where it is not. */
export const places = { inside: 22.55, outside: 22.6, longitude: 114.06, radiusM: 300 } as const;

/** Alarms of one type that are one notification each 30 seconds, by the times at which they rose. */
function folded(type: string, risesMs: readonly number[]): AlarmTold[] {
  const told: AlarmTold[] = [];
  for (const timestamp of risesMs) {
    const first = told.at(-1);
    if (first === undefined || timestamp - first.timestamp > foldMs)
      told.push({ type, event: null, timestamp, count: 1, endedAt: null });
    else told[told.length - 1] = { ...first, count: first.count + 1 };
  }
  return told;
}

/** Times of the reports in which a bit is up and was not before. */
function risesOf(bit: number, reports: readonly ReportRecord[]): number[] {
  const isUp = (report: ReportRecord | undefined): boolean => (((report?.alarm ?? 0) >>> bit) & 1) === 1;
  return reports.flatMap((report, at) => (isUp(report) && !isUp(reports[at - 1]) ? [epochOf(report.time)] : []));
}

/** As lists of them are compared. */
export const inOrder = (told: readonly AlarmTold[]): AlarmTold[] =>
  told.toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));

/** A vehicle whose terminal sends a report only when the one before it is acknowledged, so that none is late and what has to become of its alarms is known. */
export class AlarmedVehicle {
  readonly id: number;
  readonly terminal: SimulatedTerminal;
  readonly #place: { latitudeDeg: number; longitudeDeg: number };
  /** Items of every report, as of an alarm that lasts. */
  #lasting: readonly Extra[] = [];
  /** Notifications that the alarm word does not tell of. */
  readonly #others: AlarmTold[] = [];
  #alarmId = 0;

  private constructor(id: number, terminal: SimulatedTerminal, place: { latitudeDeg: number; longitudeDeg: number }) {
    this.id = id;
    this.terminal = terminal;
    this.#place = place;
  }

  static async start(world: World, client: PlatformClient, name: string): Promise<AlarmedVehicle> {
    const phone = newPhone();
    const { id } = await client.data('/vehicles', { vehicle_no: name, imei: phone });
    const place = {
      latitudeDeg: places.outside,
      longitudeDeg: places.longitude,
      altitudeM: 10,
      speedKmh: 0,
      directionDeg: 0,
      distanceM: 0,
      isIgnitionOn: true,
    };
    const terminal = await world.terminal({
      phone,
      reportIntervalMs: 0,
      reconnect: { minMs: 200, maxMs: 1_000 },
      replyTimeoutMs: 3_000,
      // What is expected is read from all reports of a campaign.
      logLimit: 100_000,
      track: { name: 'held', at: () => place },
    });
    return new AlarmedVehicle(Number(id), terminal, place);
  }

  /** A report that is acknowledged, a step further on. */
  async report(item?: Extra): Promise<ReportRecord> {
    this.#place.longitudeDeg += 0.000_01;
    return this.#acknowledged(this.terminal.report(item === undefined ? this.#lasting : [...this.#lasting, item]));
  }

  /** Raises a bit of the alarm word. Those that an acknowledgement clears are clear from then on. */
  async raise(bit: number): Promise<void> {
    this.#place.longitudeDeg += 0.000_01;
    await this.#acknowledged(this.terminal.raiseAlarm(bit));
  }

  /** Start of an alarm of driver assistance or of driver state (T/JSATL 12-2017); gives its end. */
  async activeSafety(kind: 'adas' | 'dsm'): Promise<() => Promise<void>> {
    this.#alarmId += 1;
    const alarmId = this.#alarmId;
    const timestamp = await this.#sendSafety(kind, alarmId, 1);
    const at = this.#others.push({ type: otherTypes[kind], event: null, timestamp, count: 1, endedAt: null }) - 1;
    return async () => {
      const endedMs = await this.#sendSafety(kind, alarmId, 2);
      const started = this.#others[at] as AlarmTold;
      this.#others[at] = { ...started, endedAt: new Date(endedMs).toISOString() };
    };
  }

  /** The signal of a camera is lost until it is back. */
  async loseVideo(): Promise<void> {
    this.#lasting = [
      makeExtra(extraDefinitions.videoAlarm, { videoAlarm: 1 }),
      makeExtra(extraDefinitions.videoLoss, { videoLossChannels: 0b10 }),
    ];
    this.#tell(otherTypes.video, null, await this.report());
  }

  async regainVideo(): Promise<void> {
    this.#lasting = [];
    await this.report();
  }

  /** Drives into the area or out of it; the next report makes the crossing sure. */
  async drive(where: 'inside' | 'outside'): Promise<void> {
    this.#place.latitudeDeg = places[where];
    this.#tell(otherTypes.area, where === 'inside' ? 'enter' : 'exit', await this.report());
  }

  /** What the platform has to tell of what its terminal was acknowledged. */
  expected(): AlarmTold[] {
    const reports = this.terminal.acknowledgedReports;
    return inOrder([...[...wordAlarms].flatMap(([bit, type]) => folded(type, risesOf(bit, reports))), ...this.#others]);
  }

  /** Its notifications of alarms, as the platform lists them. */
  async notifications(client: PlatformClient): Promise<Shown[]> {
    const found = await client.all(`/notifications?vehicle_id=${this.id}`);
    return found.filter((each) => alarmTypes.has(String(each['notification_type'])));
  }

  async #acknowledged(record: ReportRecord): Promise<ReportRecord> {
    const what = `report ${record.id} of ${this.terminal.phone} to be acknowledged`;
    await until(what, () => record.acknowledgedAtMs !== null, acknowledgedMs);
    return record;
  }

  async #sendSafety(kind: 'adas' | 'dsm', alarmId: number, flag: 1 | 2): Promise<number> {
    const time = cameraTimeOf(Date.now());
    const { latitudeDeg, longitudeDeg } = this.#place;
    const tag = { terminalId: 'T1', time, seq: 0, attachmentCount: 0, reserved: Buffer.alloc(1) };
    const where = { speedKmh: 0, altitudeM: 10, latitudeDeg, longitudeDeg, time, vehicleStatus: 1, tag };
    const front = { frontSpeedKmh: 40, frontDistance100ms: 12, deviationType: 0, signType: 0, signData: 0 };
    const head = { alarmId, flag, level: 1, ...where };
    const item =
      kind === 'adas'
        ? makeExtra(extraDefinitions.adasAlarm, { ...head, type: 1, ...front })
        : makeExtra(extraDefinitions.dsmAlarm, { ...head, type: 2, fatigueLevel: 5, reserved: Buffer.alloc(4) });
    await this.report(item);
    return epochOf(time);
  }

  #tell(type: string, event: string | null, record: ReportRecord): void {
    this.#others.push({ type, event, timestamp: epochOf(record.time), count: 1, endedAt: null });
  }
}

/** What notifications tell, in the order of `expected`. */
export const toldBy = (notifications: readonly Shown[]): AlarmTold[] =>
  inOrder(
    notifications.map(({ notification_type: type, timestamp, attributes }) => {
      const { event = null, count = 1, ended_at: endedAt = null } = attributes as Shown;
      return { type, event, timestamp, count, endedAt } as AlarmTold;
    }),
  );
