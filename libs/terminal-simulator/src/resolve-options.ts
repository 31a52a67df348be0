import { type Edition, editions } from '@fleet/jt808';
import { trackForVehicle } from './built-in-tracks.ts';
import { standardZoneMinutes } from './camera-clock.ts';
import type { ResolvedOptions, TerminalOptions } from './terminal-options.ts';

/** Returns the edition of a number if none is given: 20 digits are a 2019 terminal. */
function getDefaultEdition(phone: string): Edition {
  return phone.length > 12 ? '2019' : '2013';
}

function assertPhone(phone: string, edition: Edition): void {
  if (!/^\d{12}$|^\d{20}$/.test(phone)) throw new RangeError('the terminal number must have 12 or 20 digits');
  if (phone.length === 20 && edition !== '2019' && !phone.startsWith('00000000')) {
    throw new RangeError(`the number of an edition ${edition} terminal can have only 12 digits`);
  }
}

/** Applies defaults and rejects invalid options. */
export function resolveOptions(options: TerminalOptions): ResolvedOptions {
  const edition = options.edition ?? getDefaultEdition(options.phone);
  if (!editions.includes(edition)) throw new RangeError(`edition must be one of ${editions.join(', ')}`);
  assertPhone(options.phone, edition);
  const reconnect = options.reconnect ?? {};
  return {
    ...options,
    edition,
    camera: options.camera ?? { video: 'h264', audio: 'g711a' },
    channels: options.channels ?? 2,
    track: options.track ?? trackForVehicle(0),
    reportIntervalMs: options.reportIntervalMs ?? 10_000,
    heartbeatMs: options.heartbeatMs ?? 60_000,
    replyTimeoutMs: options.replyTimeoutMs ?? 15_000,
    reconnectWaits: reconnect === false ? null : { minMs: 500, maxMs: 30_000, ...reconnect },
    zoneMinutes: options.zoneMinutes ?? standardZoneMinutes,
    mediaSimBytes: options.mediaSimBytes ?? (edition === '2019' ? 10 : 6),
    restartMs: options.restartMs ?? 3000,
    logLimit: options.logLimit ?? 5000,
  };
}
