import { eventReport, multimediaEvent, passengerFlow, uplinkPassthrough } from '@fleet/jt808';
import { toCameraTime } from './camera-clock.ts';
import { createDriverCardMessage } from './handlers/driver.ts';
import { createMessage } from './handlers/handler-context.ts';
import { sendPictures } from './handlers/pictures.ts';
import type { SimulatedTerminal } from './terminal.ts';

/** Sends 0x0702: the driver inserts the card. */
export function sendDriverCard(terminal: SimulatedTerminal): void {
  terminal.sendReliably(createDriverCardMessage(terminal.createHandlerContext()));
}

/** Sends 0x0301: the driver reports one of the configured events (2011, 2013). */
export function sendEventReport(terminal: SimulatedTerminal, eventId: number): void {
  terminal.sendReliably(createMessage(eventReport, { eventId }, terminal.options.edition));
}

/** Sends 0x0900: data of a peripheral; types 0xF0 to 0xFF belong to vendors. */
export function sendPassthrough(terminal: SimulatedTerminal, type: number, data: Buffer): void {
  const { edition } = terminal.options;
  const lengths = edition === '2011' ? { totalLength: data.length, length: data.length } : {};
  terminal.sendReliably(createMessage(uplinkPassthrough, { type, ...lengths, data }, edition));
}

/** Sends 0x1005: passengers who boarded and alighted since `sinceMs` ago. */
export function sendPassengerFlow(
  terminal: SimulatedTerminal,
  count: { boarding: number; alighting: number; sinceMs?: number },
): void {
  const { edition, zoneMinutes } = terminal.options;
  const nowMs = Date.now();
  const startTime = toCameraTime(nowMs - (count.sinceMs ?? 60_000), zoneMinutes);
  const endTime = toCameraTime(nowMs, zoneMinutes);
  const { boarding, alighting } = count;
  terminal.sendReliably(createMessage(passengerFlow, { startTime, endTime, boarding, alighting }, edition));
}

/** Sends 0x0800 and 0x0801: a picture taken by the terminal on its own; event codes as in JT/T 808-2013 table 80. */
export async function sendPicture(terminal: SimulatedTerminal, channel: number, eventCode: number): Promise<number> {
  const context = terminal.createHandlerContext();
  const multimediaId = context.nextMultimediaId();
  const event = { multimediaId, type: 0, format: 0, eventCode, channel };
  terminal.sendReliably(createMessage(multimediaEvent, event, terminal.options.edition));
  await sendPictures(context, channel, [multimediaId], eventCode);
  return multimediaId;
}
