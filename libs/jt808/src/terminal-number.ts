import type { HeaderForm } from './edition.ts';
import { EncodeError } from './errors.ts';

const hexDigits = '0123456789ABCDEF';

/** Bytes of the terminal number in each header form. */
export const phoneBytesByHeader: Readonly<Record<HeaderForm, 6 | 10>> = { '2013': 6, '2019': 10 };

/**
 * Returns the canonical number of a terminal: the key for every lookup, subject and record. Leading zeros are removed,
 * because one unit appears as 013800138000 and as 00000000013800138000. A number with nibbles A-F is a 15-digit IMEI
 * sent as a 48-bit integer without its check digit, and returns that IMEI. Returns null for all zeros and for text that
 * is not a terminal number.
 */
export function terminalKey(number: string): string | null {
  if (!/^[0-9A-Fa-f]+$/.test(number)) return null;
  const significant = number.replace(/^0+/, '').toUpperCase();
  if (significant === '' || significant.length > 20) return null;
  if (/^[0-9]+$/.test(significant)) return significant;
  if (significant.length > 12) return significant;
  const imeiWithoutCheckDigit = String(Number.parseInt(significant, 16));
  return imeiWithoutCheckDigit + luhnCheckDigit(imeiWithoutCheckDigit);
}

function luhnCheckDigit(digits: string): string {
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    const doubled = i % 2 === 0 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return String((10 - (sum % 10)) % 10);
}

/** Returns the digits of packed BCD exactly as on the wire; nibbles above 9 appear as A-F. */
export function unpackDigits(bytes: Uint8Array, start: number, length: number): string {
  let digits = '';
  for (let i = start; i < start + length; i += 1) {
    const byte = bytes[i] ?? 0;
    digits += hexDigits.charAt(byte >> 4) + hexDigits.charAt(byte & 0x0f);
  }
  return digits;
}

/** Packs a terminal number for a header form: padded with zeros in front, digits otherwise unchanged. */
export function packPhone(phone: string, header: HeaderForm): Buffer {
  const width = phoneBytesByHeader[header] * 2;
  const digits = phone.length > width ? phone.replace(/^0+/, '') : phone;
  if (!/^[0-9A-Fa-f]*$/.test(digits) || digits.length > width) {
    throw new EncodeError(`terminal number does not fit in ${width} digits`, 'phone');
  }
  return Buffer.from(digits.padStart(width, '0'), 'hex');
}
