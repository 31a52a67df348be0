import { EncodeError } from './errors.ts';
import { unpackDigits } from './terminal-number.ts';

/** BCD digits that are not a valid date or time. They are preserved, so that they encode to the same bytes. */
export type RawBcd = { bcd: string } | { invalidBcd: string };

/**
 * Time on the camera's own clock, BCD[6]: `YYYY-MM-DDThh:mm:ss` without a zone, because the zone is the terminal's
 * (GMT+8 by the standard). Null means all zeros, "no value"; digits that are not a date stay raw.
 */
export type CameraTime = string | null | RawBcd;

/** Calendar date, BCD[4]: `YYYY-MM-DD`; null means all zeros. */
export type CameraDate = string | null | RawBcd;

/** Time of day, BCD[5]: `hh:mm:ss.mmmm`. Terminals write milliseconds in the last four digits. */
export type ClockTime = string | RawBcd;

const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const isLeapYear = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return day <= (daysInMonth[month - 1] as number) + (month === 2 && isLeapYear ? 1 : 0);
}

function rawBcd(digits: string): RawBcd {
  return /[A-F]/.test(digits) ? { invalidBcd: digits } : { bcd: digits };
}

/** Reads BCD[6] `YY MM DD hh mm ss`; the year is 2000 + YY. */
export function readCameraTime(bytes: Uint8Array): CameraTime {
  const digits = unpackDigits(bytes, 0, 6);
  if (digits === '000000000000') return null;
  const part = (at: number): number => Number(digits.slice(at, at + 2));
  const isValid =
    isDate(2000 + part(0), part(2), part(4)) &&
    part(6) <= 23 &&
    part(8) <= 59 &&
    part(10) <= 59 &&
    !/[A-F]/.test(digits);
  if (!isValid) return rawBcd(digits);
  const date = `20${digits.slice(0, 2)}-${digits.slice(2, 4)}-${digits.slice(4, 6)}`;
  return `${date}T${digits.slice(6, 8)}:${digits.slice(8, 10)}:${digits.slice(10, 12)}`;
}

/** Writes a value returned by `readCameraTime`. */
export function writeCameraTime(time: CameraTime): Buffer {
  if (time === null) return Buffer.alloc(6);
  if (typeof time !== 'string') return packRaw(time, 6);
  const match = /^20(\d\d)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)$/.exec(time);
  if (match === null) throw new EncodeError(`"${time}" is not YYYY-MM-DDThh:mm:ss between 2000 and 2099`);
  return packDigits(match.slice(1).join(''), 6);
}

/** Reads BCD[4] `YYYY MM DD`. */
export function readCameraDate(bytes: Uint8Array): CameraDate {
  const digits = unpackDigits(bytes, 0, 4);
  if (digits === '00000000') return null;
  const [year, month, day] = [digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8)];
  if (/[A-F]/.test(digits) || !isDate(Number(year), Number(month), Number(day))) return rawBcd(digits);
  return `${year}-${month}-${day}`;
}

/** Writes a value returned by `readCameraDate`. */
export function writeCameraDate(date: CameraDate): Buffer {
  if (date === null) return Buffer.alloc(4);
  if (typeof date !== 'string') return packRaw(date, 4);
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) throw new EncodeError(`"${date}" is not YYYY-MM-DD`);
  return packDigits(date.replaceAll('-', ''), 4);
}

/** Reads BCD[5] `hh mm ss msms`. */
export function readClockTime(bytes: Uint8Array): ClockTime {
  const digits = unpackDigits(bytes, 0, 5);
  if (!/^([01]\d|2[0-3])[0-5]\d[0-5]\d\d{4}$/.test(digits)) return rawBcd(digits);
  return `${digits.slice(0, 2)}:${digits.slice(2, 4)}:${digits.slice(4, 6)}.${digits.slice(6)}`;
}

/** Writes a value returned by `readClockTime`. */
export function writeClockTime(time: ClockTime): Buffer {
  if (typeof time !== 'string') return packRaw(time, 5);
  if (!/^\d\d:\d\d:\d\d\.\d{4}$/.test(time)) throw new EncodeError(`"${time}" is not hh:mm:ss.mmmm`);
  return packDigits(time.replaceAll(/[:.]/g, ''), 5);
}

function packRaw(raw: RawBcd, size: number): Buffer {
  return packDigits('bcd' in raw ? raw.bcd : raw.invalidBcd, size);
}

/** Packs hex digits, two per byte, into exactly `size` bytes. */
export function packDigits(digits: string, size: number): Buffer {
  if (!/^[0-9A-Fa-f]*$/.test(digits) || digits.length !== size * 2) {
    throw new EncodeError(`"${digits}" does not consist of ${size * 2} hex digits`);
  }
  return Buffer.from(digits, 'hex');
}
