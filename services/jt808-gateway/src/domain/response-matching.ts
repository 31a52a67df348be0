import type { Edition } from '@fleet/jt808';

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

const generalOnly: ResponseMatcher = { specificId: null, matchBy: 'serial', general: 'always' };

const matcherByCommandId: Readonly<Record<number, ResponseMatcher>> = {
  // The standard specifies 0x1205, some terminals send 0x0001. The first one completes the command.
  0x9201: { specificId: 0x1205, matchBy: 'serial', general: 'always' },
  0x9205: { specificId: 0x1205, matchBy: 'serial', general: 'unlessWorking' },
  // Some terminals take pictures or lock doors without sending the specific response. The first response completes the
  // command.
  0x8801: { specificId: 0x0805, matchBy: 'serial', general: 'always' },
  0x8500: { specificId: 0x0500, matchBy: 'serial', general: 'always' },
  0x8104: { specificId: 0x0104, matchBy: 'serial', general: 'unlessWorking' },
  0x8106: { specificId: 0x0104, matchBy: 'serial', general: 'unlessWorking' },
  0x8107: { specificId: 0x0107, matchBy: 'id', general: 'unlessWorking' },
  0x9003: { specificId: 0x1003, matchBy: 'id', general: 'unlessWorking' },
};

/** Returns the rules that match responses to a command. */
export function getResponseMatcher(messageId: number, edition: Edition): ResponseMatcher {
  // Sent only to wake a terminal: any response proves that it is awake. The 2011 form of 0x0201 has no reply serial.
  if (messageId === 0x8201)
    return { specificId: 0x0201, matchBy: edition === '2011' ? 'id' : 'serial', general: 'always' };
  return matcherByCommandId[messageId] ?? generalOnly;
}
