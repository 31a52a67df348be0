import { eventReport, multimediaEvent, passengerFlow, uplinkPassthrough } from '@fleet/jt808';
import { messageOf } from './answers/answering.ts';
import { driverCard } from './answers/driver.ts';
import { sendPictures } from './answers/pictures.ts';
import { cameraTimeOf } from './camera-clock.ts';
import type { SimulatedTerminal } from './terminal.ts';

/** 0x0702: the driver puts the card in. */
export function driverSignsOn(terminal: SimulatedTerminal): void {
  terminal.sendReliably(driverCard(terminal.context()));
}

/** 0x0301: the driver reports one of the events that were set (2011, 2013). */
export function driverReportsEvent(terminal: SimulatedTerminal, eventId: number): void {
  terminal.sendReliably(messageOf(eventReport, { eventId }, terminal.options.edition));
}

/** 0x0900: data of a peripheral; type 0xF0 to 0xFF is a vendor's. */
export function peripheralData(terminal: SimulatedTerminal, type: number, data: Buffer): void {
  const { edition } = terminal.options;
  const lengths = edition === '2011' ? { totalLength: data.length, length: data.length } : {};
  terminal.sendReliably(messageOf(uplinkPassthrough, { type, ...lengths, data }, edition));
}

/** 0x1005: passengers that got on and off since `sinceMs` ago. */
export function passengersCounted(
  terminal: SimulatedTerminal,
  count: { boarding: number; alighting: number; sinceMs?: number },
): void {
  const { edition, zoneMinutes } = terminal.options;
  const nowMs = Date.now();
  const startTime = cameraTimeOf(nowMs - (count.sinceMs ?? 60_000), zoneMinutes);
  const endTime = cameraTimeOf(nowMs, zoneMinutes);
  const { boarding, alighting } = count;
  terminal.sendReliably(messageOf(passengerFlow, { startTime, endTime, boarding, alighting }, edition));
}

/** 0x0800 and 0x0801: a picture that the terminal takes on its own; event codes as in JT/T 808-2013 table 80. */
export async function pictureTaken(terminal: SimulatedTerminal, channel: number, eventCode: number): Promise<number> {
  const context = terminal.context();
  const multimediaId = context.nextMultimediaId();
  const event = { multimediaId, type: 0, format: 0, eventCode, channel };
  terminal.sendReliably(messageOf(multimediaEvent, event, terminal.options.edition));
  await sendPictures(context, channel, [multimediaId], eventCode);
  return multimediaId;
}
