import { queryAttributesResponse, terminalRegistration } from '@fleet/jt808';
import { recordUnassigned } from '../domains/unassigned-devices/use-cases.ts';
import { noteDevice } from '../domains/vehicles/devices.ts';
import type { TerminalHandler } from './terminal-messages.ts';

/** Terminals pad texts with blanks and zeros; an empty text is unknown. */
function text(value: string): string | undefined {
  const trimmed = value.replaceAll('\0', '').trim();
  return trimmed === '' ? undefined : trimmed;
}

const known = (fields: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

/** Handles 0x0100: the manufacturer of the terminal. */
export const keepRegistrations: TerminalHandler<typeof terminalRegistration> = {
  definition: terminalRegistration,
  durable: 'platform-registrations',
  handle: async (parts, { imei, edition, body, receivedAtMs }) => {
    const { manufacturerId, terminalModel, terminalId, plateNo } = body;
    const told = known({
      manufacturer: text(manufacturerId),
      model: text(terminalModel),
      terminalId: text(terminalId),
    });
    await noteDevice(parts.database, imei, { ...told, edition, seenMs: receivedAtMs });
    await recordUnassigned(parts, imei, receivedAtMs, { ...told, ...known({ plate: text(plateNo) }), edition });
  },
};

/** Handles 0x0107: the hardware and firmware of the terminal. */
export const keepAttributes: TerminalHandler<typeof queryAttributesResponse> = {
  definition: queryAttributesResponse,
  durable: 'platform-attributes',
  handle: async ({ database }, { imei, edition, body, receivedAtMs }) => {
    const told = known({
      manufacturer: text(body.manufacturerId),
      model: text(body.terminalModel),
      terminalId: text(body.terminalId),
      // 19 digits are padded with an F.
      iccid: text(body.iccid.replace(/F+$/i, '')),
      firmware: text(body.firmwareVersion),
    });
    await noteDevice(database, imei, { ...told, edition, seenMs: receivedAtMs });
  },
};
