import { type Extra, encodeBody, extraDefinitions, type LocationReport, locationReport, makeExtra } from '@fleet/jt808';
import { AlarmState } from './alarms.ts';
import { cameraTimeOf } from './camera-clock.ts';
import type { ResolvedOptions } from './terminal-options.ts';
import type { TrackPoint } from './track.ts';

/** Vendor item that makes every report's body unique: a counter of 4 bytes. */
const REPORT_NUMBER_ITEM = 0xe1;

const STATUS = {
  accOn: 1,
  fixed: 1 << 1,
  south: 1 << 2,
  west: 1 << 3,
  doorLocked: 1 << 12,
  gps: 1 << 18,
  beiDou: 1 << 19,
};
/** Status bits 13-17 and the like that a test sets stay; these are computed. */
const MOVING_2019 = 1 << 22;

/** The vehicle around a terminal: where it is, its alarms, doors and odometer. */
export class Vehicle {
  readonly alarms = new AlarmState();
  /** Extra status bits to set in every report. */
  statusBits = 0;
  isDoorLocked = false;
  /** Shown in item 0x2A while the terminal sleeps. */
  isAsleep = false;
  readonly #options: ResolvedOptions;
  readonly #startedAt = Date.now();
  readonly #odometerStartKm: number;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#odometerStartKm = 12_000 + (Number(options.phone.slice(-4)) % 5000);
  }

  /** Where it is now. */
  position(): TrackPoint {
    return this.#options.track.at(Date.now() - this.#startedAt + (this.#options.trackOffsetMs ?? 0));
  }

  /** Current location as the fields of 0x0200; `extras` come behind the usual items. */
  location(extras: readonly Extra[] = []): LocationReport & { time: string } {
    const point = this.position();
    return {
      alarm: this.alarms.bits,
      status: this.#status(point),
      latitudeDeg: round6(point.latitudeDeg),
      longitudeDeg: round6(point.longitudeDeg),
      altitudeM: Math.max(0, Math.round(point.altitudeM)),
      speedKmh: Math.round(point.speedKmh * 10) / 10,
      directionDeg: point.directionDeg,
      time: cameraTimeOf(Date.now(), this.#options.zoneMinutes),
      extras: [...this.#usualItems(point), ...extras],
    };
  }

  /** A numbered report: body of 0x0200 and its device time. */
  report(number: number, extras: readonly Extra[] = []): { body: Buffer; time: string; alarm: number } {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(number, 0);
    const location = this.location([...extras, { id: REPORT_NUMBER_ITEM, bytes: counter }]);
    const body = encodeBody(locationReport, location, this.#options.edition);
    return { body, time: location.time, alarm: location.alarm };
  }

  #status(point: TrackPoint): number {
    let status = STATUS.fixed | STATUS.gps | STATUS.beiDou | this.statusBits;
    if (point.isIgnitionOn) status |= STATUS.accOn;
    if (point.latitudeDeg < 0) status |= STATUS.south;
    if (point.longitudeDeg < 0) status |= STATUS.west;
    if (this.isDoorLocked) status |= STATUS.doorLocked;
    if (this.#options.edition === '2019' && point.speedKmh > 0) status |= MOVING_2019;
    return status >>> 0;
  }

  #usualItems(point: TrackPoint): Extra[] {
    const mileageKm = Math.round((this.#odometerStartKm + point.distanceM / 1000) * 10) / 10;
    const fuelL = Math.round((60 - (((point.distanceM / 1000) * 0.09) % 50)) * 10) / 10;
    const items = [
      makeExtra(extraDefinitions.mileage, { mileageKm }),
      makeExtra(extraDefinitions.fuel, { fuelL }),
      makeExtra(extraDefinitions.signalStrength, { signalStrength: 24 }),
      makeExtra(extraDefinitions.satellites, { satellites: 14 }),
    ];
    if (this.isAsleep) items.push(makeExtra(extraDefinitions.ioStatus, { ioStatus: 0b10 }));
    return items;
  }
}

const round6 = (degrees: number): number => Math.round(degrees * 1e6) / 1e6;
