import { type Edition, messageById } from '@fleet/jt808';
import { classifyUplink } from './classify-uplink.ts';

/** Rules that match responses to a command (JT/T 808 reference, sections 6 and 17). */
export interface ResponseMatcher {
  /** Message id of the specific response; null when 0x0001 is the only one. */
  readonly specificId: number | null;
  /**
   * Key that joins the specific response to its command: the reply serial, or the message id alone, which allows one
   * such command at a time.
   */
  readonly matchBy: 'serial' | 'id';
  /**
   * When 0x0001 ends the command. `always`: with any result. `unlessWorking`: not with result 0, after which the
   * specific response follows.
   */
  readonly general: 'always' | 'unlessWorking';
}

/**
 * Commands of which 0x0001 with result 0 means only that the terminal is working: queries of recordings, parameters and
 * attributes. Any other command is complete with its first response: some terminals take pictures, lock doors or play
 * recordings and send only 0x0001.
 */
const queryIds: ReadonlySet<number> = new Set([0x8104, 0x8106, 0x8107, 0x9003, 0x9205]);

/** Returns the rules that match responses to a command, which follow from the codec's `responseIds`. */
export function getResponseMatcher(messageId: number, edition: Edition): ResponseMatcher {
  const { responseIds = [] } = messageById(messageId, 'platform') ?? {};
  const specificId = responseIds.find((id) => classifyUplink(id) === 'response') ?? null;
  return {
    specificId,
    matchBy: specificId === null || hasReplySerial(specificId, edition) ? 'serial' : 'id',
    general: queryIds.has(messageId) ? 'unlessWorking' : 'always',
  };
}

/** Returns whether a response begins with the serial of its command, in this edition. */
export function hasReplySerial(messageId: number, edition: Edition): boolean {
  const [name, field] = messageById(messageId, 'terminal')?.entries[edition][0] ?? [];
  if (name !== 'replySerial' || field === undefined) return false;
  return field.shape.kind !== 'optional' || field.shape.present({ edition, body: {} }) !== false;
}
