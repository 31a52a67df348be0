import type { Edition } from '@fleet/jt808';

/** What answers a command, JT/T 808 reference sections 6 and 17. */
export interface ResponseMatcher {
  /** Message id of the specific answer; null when 0x0001 is all there is. */
  readonly specificId: number | null;
  /** What joins the specific answer to its command: its reply serial, or its id alone, so that only one such command may be out. */
  readonly matchBy: 'serial' | 'id';
  /** When 0x0001 ends the command. `always`: any result. `unlessWorking`: not result 0, after which the specific answer is still to come. */
  readonly general: 'always' | 'unlessWorking';
}

const generalOnly: ResponseMatcher = { specificId: null, matchBy: 'serial', general: 'always' };

const matcherByCommandId: Readonly<Record<number, ResponseMatcher>> = {
  // The standard says 0x1205, units answer 0x0001: whichever comes first.
  0x9201: { specificId: 0x1205, matchBy: 'serial', general: 'always' },
  0x9205: { specificId: 0x1205, matchBy: 'serial', general: 'unlessWorking' },
  // Units that film or lock without saying so by the message of their own exist: what they say first counts.
  0x8801: { specificId: 0x0805, matchBy: 'serial', general: 'always' },
  0x8500: { specificId: 0x0500, matchBy: 'serial', general: 'always' },
  0x8104: { specificId: 0x0104, matchBy: 'serial', general: 'unlessWorking' },
  0x8106: { specificId: 0x0104, matchBy: 'serial', general: 'unlessWorking' },
  0x8107: { specificId: 0x0107, matchBy: 'id', general: 'unlessWorking' },
  0x9003: { specificId: 0x1003, matchBy: 'id', general: 'unlessWorking' },
};

/** How the answer to a command is known. */
export function getResponseMatcher(messageId: number, edition: Edition): ResponseMatcher {
  // Asked only to wake a terminal: any answer says that it is awake. The 2011 form of 0x0201 has no reply serial.
  if (messageId === 0x8201)
    return { specificId: 0x0201, matchBy: edition === '2011' ? 'id' : 'serial', general: 'always' };
  return matcherByCommandId[messageId] ?? generalOnly;
}
