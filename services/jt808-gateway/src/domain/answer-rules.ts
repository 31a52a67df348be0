import type { Edition } from '@fleet/jt808';

/** What answers a command, JT/T 808 reference sections 6 and 17. */
export interface AnswerRule {
  /** Message id of the specific answer; null when 0x0001 is all there is. */
  readonly specificId: number | null;
  /** What joins the specific answer to its command: its reply serial, or its id alone, so that only one such command may be out. */
  readonly by: 'serial' | 'id';
  /** When 0x0001 ends the command. `always`: any result. `unlessWorking`: not result 0, after which the specific answer is still to come. */
  readonly general: 'always' | 'unlessWorking';
}

const generalOnly: AnswerRule = { specificId: null, by: 'serial', general: 'always' };

const specific: Readonly<Record<number, AnswerRule>> = {
  // The standard says 0x1205, units answer 0x0001: whichever comes first.
  0x9201: { specificId: 0x1205, by: 'serial', general: 'always' },
  0x9205: { specificId: 0x1205, by: 'serial', general: 'unlessWorking' },
  // Units that film or lock without saying so by the message of their own exist: what they say first counts.
  0x8801: { specificId: 0x0805, by: 'serial', general: 'always' },
  0x8500: { specificId: 0x0500, by: 'serial', general: 'always' },
  0x8104: { specificId: 0x0104, by: 'serial', general: 'unlessWorking' },
  0x8106: { specificId: 0x0104, by: 'serial', general: 'unlessWorking' },
  0x8107: { specificId: 0x0107, by: 'id', general: 'unlessWorking' },
  0x9003: { specificId: 0x1003, by: 'id', general: 'unlessWorking' },
};

/** How the answer to a command is known. */
export function answerRule(messageId: number, edition: Edition): AnswerRule {
  // Asked only to wake a terminal: any answer says that it is awake. The 2011 form of 0x0201 has no reply serial.
  if (messageId === 0x8201) return { specificId: 0x0201, by: edition === '2011' ? 'id' : 'serial', general: 'always' };
  return specific[messageId] ?? generalOnly;
}
