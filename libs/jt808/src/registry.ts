import type { MessageDefinition, Sender } from './message.ts';
import * as areas from './messages/areas.ts';
import * as attachments from './messages/attachments.ts';
import * as information from './messages/information.ts';
import * as location from './messages/location.ts';
import * as media from './messages/media.ts';
import * as parameters from './messages/parameters.ts';
import * as session from './messages/session.ts';
import * as vehicle from './messages/vehicle.ts';
import * as video from './messages/video.ts';

const modules = [session, parameters, location, information, vehicle, areas, media, video, attachments];

const isMessageDefinition = (value: unknown): value is MessageDefinition =>
  typeof value === 'object' && value !== null && 'id' in value && 'entries' in value;

/** All message definitions, by ascending id. */
export const allMessages: readonly MessageDefinition[] = modules
  .flatMap((module) => Object.values(module).filter(isMessageDefinition))
  .sort((a, b) => a.id - b.id);

const byId = new Map(allMessages.map((definition): [number, MessageDefinition] => [definition.id, definition]));

/**
 * Returns the sender of an id: 0x0000-0x7FFF and vendors' 0xE000-0xEFFF come from the terminal, all others go to it.
 */
export function getSender(messageId: number): Sender {
  return messageId < 0x8000 || (messageId >= 0xe000 && messageId <= 0xefff) ? 'terminal' : 'platform';
}

/** Returns the definition of an id, or undefined for an id that the standards do not have. */
export function messageById(id: number, from?: Sender): MessageDefinition | undefined {
  const definition = byId.get(id);
  return from === undefined || definition?.from === from ? definition : undefined;
}
