import { type BodyOf, terminalRegistration } from '@fleet/jt808';
import { recordUnassigned } from '../domains/unassigned-devices/use-cases.ts';
import { detailMessages, toStoredDetails, trimPadding } from '../domains/vehicles/device-details.ts';
import { upsertDevice } from '../domains/vehicles/devices.ts';
import type { TerminalHandler } from './terminal-messages.ts';

/** Handlers of the messages in which terminals report details about themselves. */
export const deviceDetailHandlers: readonly TerminalHandler[] = detailMessages.map(({ definition, durable, read }) => ({
  definition,
  ...(durable !== undefined && { durable }),
  handle: async (parts, { imei, edition, body, receivedAtMs }) => {
    const details = toStoredDetails(read(body));
    await upsertDevice(parts.database, imei, { ...details, edition, seenMs: receivedAtMs });
    if (definition !== terminalRegistration) return;
    const { manufacturer, model, terminalId } = details;
    const plate = trimPadding((body as BodyOf<typeof terminalRegistration>).plateNo) ?? undefined;
    await recordUnassigned(parts, imei, receivedAtMs, { manufacturer, model, terminalId, plate, edition });
  },
}));
