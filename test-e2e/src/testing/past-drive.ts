import { encodeBody, locationReport } from '@fleet/jt808';
import { type SimulatedTerminal, toCameraTime } from '@fleet/terminal-simulator';

/** A drive to the north at a constant speed, followed by a standstill. */
interface PastDrive {
  readonly startMs: number;
  readonly driveMinutes: number;
  readonly standMinutes: number;
  readonly latitude: number;
  readonly longitude: number;
}

const intervalMs = 10_000;
const speedKmh = 54;
/** 54 km/h are 150 m in ten seconds. */
const stepDeg = 150 / 111_195;
/** Ignition on, valid fix. */
const drivingStatus = 0b11;
/** Ignition off, valid fix. */
const standingStatus = 0b10;

/** Sends the reports of a drive in the past, as a terminal does that had no connection. Returns their number. */
export function sendPastDrive(terminal: SimulatedTerminal, drive: PastDrive): number {
  const count = ((drive.driveMinutes + drive.standMinutes) * 60_000) / intervalMs;
  const drivingCount = (drive.driveMinutes * 60_000) / intervalMs;
  for (let index = 0; index < count; index += 1) {
    const isDriving = index < drivingCount;
    const location = {
      alarm: 0,
      status: isDriving ? drivingStatus : standingStatus,
      latitudeDeg: Number((drive.latitude + Math.min(index, drivingCount) * stepDeg).toFixed(6)),
      longitudeDeg: drive.longitude,
      altitudeM: 10,
      speedKmh: isDriving ? speedKmh : 0,
      directionDeg: 0,
      time: toCameraTime(drive.startMs + index * intervalMs, terminal.options.zoneMinutes),
      extras: [],
    };
    terminal.send({ messageId: 0x0200, body: encodeBody(locationReport, location, terminal.options.edition) });
  }
  return count;
}
