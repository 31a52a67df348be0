/** Alarm bits of 0x0200 by name (JT/T 808-2019 table 25). */
export const alarmBits = {
  emergency: 0,
  overspeed: 1,
  fatigueDriving: 2,
  dangerWarning: 3,
  gnssFault: 4,
  antennaOpen: 5,
  antennaShort: 6,
  mainPowerLow: 7,
  mainPowerOff: 8,
  displayFault: 9,
  ttsFault: 10,
  cameraFault: 11,
  icCardFault: 12,
  overspeedWarning: 13,
  fatigueWarning: 14,
  forbiddenDriving: 15,
  tyrePressureWarning: 16,
  blindSpot: 17,
  dailyDrivingOvertime: 18,
  parkingOvertime: 19,
  area: 20,
  route: 21,
  sectionTime: 22,
  offRoute: 23,
  vssFault: 24,
  fuelAbnormal: 25,
  stolen: 26,
  illegalIgnition: 27,
  illegalMovement: 28,
  collision: 29,
  rollover: 30,
  illegalDoorOpening: 31,
} as const;

/** Name of an alarm bit. */
export type AlarmName = keyof typeof alarmBits;

/** Bits that a terminal clears itself once the platform has acknowledged them; the others stay until the condition ends. */
const clearedByAcknowledgement = [0, 3, 20, 21, 22, 27, 28].reduce((mask, bit) => (mask | (1 << bit)) >>> 0, 0);

/** Returns the bit number of an alarm given by name or number. */
function toAlarmBit(alarm: AlarmName | number): number {
  const bit = typeof alarm === 'number' ? alarm : alarmBits[alarm];
  if (!Number.isInteger(bit) || bit < 0 || bit > 31) throw new RangeError('an alarm bit must be 0 to 31');
  return bit;
}

/** Holds the active alarms of a terminal. */
export class AlarmState {
  #bits = 0;

  /** Value of the alarm field of 0x0200. */
  get bits(): number {
    return this.#bits;
  }

  raise(alarm: AlarmName | number): void {
    this.#bits = (this.#bits | (1 << toAlarmBit(alarm))) >>> 0;
  }

  clear(alarm: AlarmName | number): void {
    this.#bits = (this.#bits & ~(1 << toAlarmBit(alarm))) >>> 0;
  }

  /** Clears the bits that end once the platform has acknowledged a report with them. */
  acknowledge(bits: number): void {
    this.#bits = (this.#bits & ~(bits & clearedByAcknowledgement)) >>> 0;
  }
}
