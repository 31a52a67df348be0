import {
  type AdditionalItem,
  additionalItemDefinitions,
  createAdditionalItem,
  encodeBody,
  type LocationReport,
  locationReport,
} from '@fleet/jt808';
import { AlarmState } from './alarms.ts';
import { toCameraTime } from './camera-clock.ts';
import type { ResolvedOptions } from './terminal-options.ts';
import type { TrackPoint } from './track.ts';

/** Vendor item that makes the body of every report unique: a counter of 4 bytes. */
const reportNumberItemId = 0xe1;

const statusMasks = {
  accOn: 1,
  fixed: 1 << 1,
  south: 1 << 2,
  west: 1 << 3,
  doorLocked: 1 << 12,
  gps: 1 << 18,
  beiDou: 1 << 19,
};
/** Computed like `statusMasks`. Other bits that a test sets, such as 13-17, are preserved. */
const moving2019Mask = 1 << 22;

/** Simulates the vehicle of a terminal: its position, alarms, doors and odometer. */
export class Vehicle {
  readonly alarms = new AlarmState();
  /** Additional status bits of every report. */
  statusBits = 0;
  isDoorLocked = false;
  /** Reported in item 0x2A while the terminal sleeps. */
  isAsleep = false;
  readonly #options: ResolvedOptions;
  readonly #startedAt = Date.now();
  readonly #odometerStartKm: number;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#odometerStartKm = 12_000 + (Number(options.phone.slice(-4)) % 5000);
  }

  /** Returns the current point on the track. */
  position(): TrackPoint {
    return this.#options.track.at(Date.now() - this.#startedAt + (this.#options.trackOffsetMs ?? 0));
  }

  /** Returns the current location as the fields of 0x0200; `extras` follow the usual items. */
  location(items: readonly AdditionalItem[] = []): LocationReport & { time: string } {
    const point = this.position();
    return {
      alarm: this.alarms.bits,
      status: this.#getStatus(point),
      latitudeDeg: roundTo6Digits(point.latitudeDeg),
      longitudeDeg: roundTo6Digits(point.longitudeDeg),
      altitudeM: Math.max(0, Math.round(point.altitudeM)),
      speedKmh: Math.round(point.speedKmh * 10) / 10,
      directionDeg: point.directionDeg,
      time: toCameraTime(Date.now(), this.#options.zoneMinutes),
      extras: [...this.#createStandardItems(point), ...items],
    };
  }

  /** Creates a numbered report: body of 0x0200 and its device time. */
  createReport(number: number, items: readonly AdditionalItem[] = []): { body: Buffer; time: string; alarm: number } {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(number, 0);
    const location = this.location([...items, { id: reportNumberItemId, bytes: counter }]);
    const body = encodeBody(locationReport, location, this.#options.edition);
    return { body, time: location.time, alarm: location.alarm };
  }

  #getStatus(point: TrackPoint): number {
    let status = statusMasks.fixed | statusMasks.gps | statusMasks.beiDou | this.statusBits;
    if (point.isIgnitionOn) status |= statusMasks.accOn;
    if (point.latitudeDeg < 0) status |= statusMasks.south;
    if (point.longitudeDeg < 0) status |= statusMasks.west;
    if (this.isDoorLocked) status |= statusMasks.doorLocked;
    if (this.#options.edition === '2019' && point.speedKmh > 0) status |= moving2019Mask;
    return status >>> 0;
  }

  #createStandardItems(point: TrackPoint): AdditionalItem[] {
    const mileageKm = Math.round((this.#odometerStartKm + point.distanceM / 1000) * 10) / 10;
    const fuelL = Math.round((60 - (((point.distanceM / 1000) * 0.09) % 50)) * 10) / 10;
    const items = [
      createAdditionalItem(additionalItemDefinitions.mileage, { mileageKm }),
      createAdditionalItem(additionalItemDefinitions.fuel, { fuelL }),
      createAdditionalItem(additionalItemDefinitions.signalStrength, { signalStrength: 24 }),
      createAdditionalItem(additionalItemDefinitions.satellites, { satellites: 14 }),
    ];
    if (this.isAsleep) items.push(createAdditionalItem(additionalItemDefinitions.ioStatus, { ioStatus: 0b10 }));
    return items;
  }
}

const roundTo6Digits = (degrees: number): number => Math.round(degrees * 1e6) / 1e6;
