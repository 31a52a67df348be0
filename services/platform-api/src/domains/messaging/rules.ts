import type { Intent } from './schema.ts';

/** Parses `WHERE KA01AB1234` or `STATUS KA01AB1234`; returns null for any other text. */
export function parseSmsCommand(text: string): { command: 'where' | 'status'; vehicleNo: string } | null {
  const parts = /^\s*(where|status)\s+(\S(?:.{0,38}\S)?)\s*$/i.exec(text);
  if (parts === null) return null;
  return { command: parts[1]?.toLowerCase() === 'where' ? 'where' : 'status', vehicleNo: parts[2] ?? '' };
}

/** Patterns for the intent of a caller; the first match counts. */
const intentPatterns: readonly (readonly [Intent, RegExp])[] = [
  ['share_location', /\bshar(e|ing)\b|\bsend\b.*\b(link|location)\b/i],
  ['last_alert', /\b(alerts?|alarms?|warnings?|notifications?)\b/i],
  ['vehicle_location', /\bwhere\b|\blocat(e|ion|ed)\b|\bposition\b/i],
  ['vehicle_status', /\bstatus\b|\bmoving\b|\bstopped\b|\bparked\b|\bonline\b|\boffline\b|\bhow is\b/i],
];

/** Returns the intent of a caller, or null. */
export const detectIntent = (transcript: string): Intent | null =>
  intentPatterns.find(([, pattern]) => pattern.test(transcript))?.[0] ?? null;

const normalizeText = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9]/g, '');

/**
 * Returns the vehicle whose number or name a text contains, ignoring case, spaces and punctuation. The longest match
 * counts.
 */
export function findNamedVehicle<T extends { readonly vehicleNo: string; readonly name: string }>(
  transcript: string,
  vehicles: readonly T[],
): T | null {
  const normalized = normalizeText(transcript);
  let best: { vehicle: T; length: number } | null = null;
  for (const vehicle of vehicles)
    for (const name of [normalizeText(vehicle.vehicleNo), normalizeText(vehicle.name)])
      if (name.length >= 2 && normalized.includes(name) && name.length > (best?.length ?? 0))
        best = { vehicle, length: name.length };
  return best?.vehicle ?? null;
}

/** Reply to unknown callers, which reveals nothing about any vehicle. */
export const unknownCallerText = 'Sorry, this number is not registered with us. Goodbye.';
