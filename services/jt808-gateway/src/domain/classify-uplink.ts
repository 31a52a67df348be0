import { allMessages, type MessageDefinition } from '@fleet/jt808';

/** Handling of a terminal's message, by message id (JT/T 808 reference, section 6). */
type UplinkKind =
  | 'login'
  | 'logout'
  | 'heartbeat'
  | 'location'
  | 'multimedia'
  | 'generalResponse'
  | 'response'
  | 'retransmit'
  | 'event'
  | 'unknown';

/** Messages with their own handler. 0x1205 is a response, although terminals may also send it unsolicited. */
const specialKinds: readonly (readonly [number, UplinkKind])[] = [
  [0x0001, 'generalResponse'],
  [0x0002, 'heartbeat'],
  [0x0003, 'logout'],
  [0x0004, 'login'],
  [0x0005, 'retransmit'],
  [0x0100, 'login'],
  [0x0102, 'login'],
  [0x0200, 'location'],
  [0x0704, 'location'],
  [0x0801, 'multimedia'],
  [0x1205, 'response'],
];

/**
 * Returns a function that classifies the uplink messages of a codec: a message that the platform acknowledges is an
 * event, one that ends a command is a response, and an id without a definition is unknown.
 */
export function createUplinkClassifier(definitions: readonly MessageDefinition[]): (messageId: number) => UplinkKind {
  const commandResponseIds = new Set(
    definitions.filter(({ from }) => from === 'platform').flatMap(({ responseIds = [] }) => responseIds),
  );
  const derivedKinds = definitions
    .filter(({ from }) => from === 'terminal')
    .flatMap(({ id, responseIds }): [number, UplinkKind][] => {
      if (responseIds !== undefined) return [[id, 'event']];
      return commandResponseIds.has(id) ? [[id, 'response']] : [];
    });
  const kindByMessageId = new Map<number, UplinkKind>([...derivedKinds, ...specialKinds]);
  return (messageId) => kindByMessageId.get(messageId) ?? 'unknown';
}

/** Returns the kind of an uplink message. */
export const classifyUplink = createUplinkClassifier(allMessages);

/** Returns the minimum body length of a location message: the base of 0x0200, or count and type of 0x0704. */
export const minLocationBytes = (messageId: number): number => (messageId === 0x0704 ? 3 : 28);
