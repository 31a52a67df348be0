import { allMessages } from '@fleet/jt808';

/** Handling of an authenticated terminal's message, by message id (JT/T 808 reference, section 6). */
export type UplinkKind =
  | 'response'
  | 'location'
  | 'heartbeat'
  | 'logout'
  | 'retransmit'
  | 'multimedia'
  | 'event'
  | 'unknown';

/** Messages with their own handler. 0x1205 is a response, although terminals may also send it unsolicited. */
const specialKinds: readonly (readonly [number, UplinkKind])[] = [
  [0x0002, 'heartbeat'],
  [0x0003, 'logout'],
  [0x0005, 'retransmit'],
  [0x0200, 'location'],
  [0x0704, 'location'],
  [0x0801, 'multimedia'],
  [0x1205, 'response'],
];

/**
 * General response, time query, registration and authentication, which other handlers process before this table is
 * used.
 */
const otherHandlers = new Set([0x0001, 0x0004, 0x0100, 0x0102]);

const uplinkDefinitions = allMessages.filter(({ id, from }) => from === 'terminal' && !otherHandlers.has(id));
const commandResponseIds = new Set(
  allMessages.filter(({ from }) => from === 'platform').flatMap(({ responseIds = [] }) => responseIds),
);

/**
 * Derived from the codec: a message that the platform acknowledges is an event, one that ends a command is a response.
 */
const kindByMessageId = new Map<number, UplinkKind>([
  ...uplinkDefinitions.flatMap(({ id, responseIds }): [number, UplinkKind][] => {
    if (responseIds !== undefined) return [[id, 'event']];
    return commandResponseIds.has(id) ? [[id, 'response']] : [];
  }),
  ...specialKinds,
]);

/** Returns the kind of an uplink message, or `unknown` for an id without a definition. */
export const classifyUplink = (messageId: number): UplinkKind => kindByMessageId.get(messageId) ?? 'unknown';

/** Returns the minimum body length of a location message: the base of 0x0200, or count and type of 0x0704. */
export const minLocationBytes = (messageId: number): number => (messageId === 0x0704 ? 3 : 28);
