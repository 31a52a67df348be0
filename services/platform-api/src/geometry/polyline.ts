import type { Position } from './positions.ts';

/**
 * Encodes a line in Google's polyline format. The Platform API, OSRM and most maps use precision 5, Valhalla uses 6.
 */
export function encodePolyline(line: readonly Position[], precision = 5): string {
  const factor = 10 ** precision;
  let [lastLat, lastLng] = [0, 0];
  const parts: string[] = [];
  for (const [latitude, longitude] of line) {
    const [lat, lng] = [Math.round(latitude * factor), Math.round(longitude * factor)];
    parts.push(encodeNumber(lat - lastLat), encodeNumber(lng - lastLng));
    [lastLat, lastLng] = [lat, lng];
  }
  return parts.join('');
}

function encodeNumber(value: number): string {
  // Avoids shifts: with precision 6 a difference in longitude exceeds 32 bits.
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  let text = '';
  while (rest >= 32) {
    text += String.fromCharCode(32 + (rest % 32) + 63);
    rest = Math.floor(rest / 32);
  }
  return text + String.fromCharCode(rest + 63);
}

/** Decodes a polyline; returns null if the text is invalid or a position is out of range. */
export function decodePolyline(text: string, precision = 5): Position[] | null {
  const factor = 10 ** precision;
  const numbers = decodeNumbers(text);
  if (numbers === null || numbers.length % 2 !== 0) return null;
  const line: Position[] = [];
  let [lat, lng] = [0, 0];
  for (let at = 0; at < numbers.length; at += 2) {
    lat += numbers[at] ?? 0;
    lng += numbers[at + 1] ?? 0;
    if (Math.abs(lat) > 90 * factor || Math.abs(lng) > 180 * factor) return null;
    line.push([lat / factor, lng / factor]);
  }
  return line;
}

function decodeNumbers(text: string): number[] | null {
  const numbers: number[] = [];
  let [value, scale] = [0, 1];
  for (let at = 0; at < text.length; at += 1) {
    const chunk = text.charCodeAt(at) - 63;
    if (chunk < 0 || chunk > 63 || scale > 2 ** 35) return null;
    value += (chunk % 32) * scale;
    scale *= 32;
    if (chunk >= 32) continue;
    numbers.push(value % 2 === 1 ? -(value + 1) / 2 : value / 2);
    [value, scale] = [0, 1];
  }
  return scale === 1 ? numbers : null;
}
