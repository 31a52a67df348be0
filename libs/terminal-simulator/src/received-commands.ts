import { BodyError, decodeBody, type Edition, terminalControl, textMessage } from '@fleet/jt808';
import type { PlatformMessage } from './frame-log.ts';
import { pushBounded } from './media/stream-record.ts';

/** A text received from the platform (0x8300). */
export interface ReceivedText {
  serial: number;
  text: string;
  /** The flag byte as received. */
  flags: number;
  /** Emergency flag. Editions 2011 and 2013: bit 0. Edition 2019: bits 0 and 1 are 10. */
  emergency: boolean;
  display: boolean;
  readAloud: boolean;
  advertisingScreen: boolean;
  /** Bit 5 (2013, 2019): the text is a CAN fault code instead of navigation information. */
  canFaultCode: boolean;
  /** Edition 2019, bits 0 and 1: 1 service, 2 emergency, 3 notification, 0 none; null elsewhere. */
  flagClass: number | null;
  /** Edition 2019, the byte after the flags: 1 notification, 2 service; null elsewhere. */
  textType: number | null;
}

/** A terminal control command received from the platform (0x8105). */
export interface ReceivedControl {
  serial: number;
  command: number;
  parameters: string;
  /** The separate parameters, in the order of the standard; empty if there are none. */
  fields: string[];
}

function parseText(message: PlatformMessage, edition: Edition): ReceivedText {
  const { flags, text, textType } = decodeBody(textMessage, message.body, edition);
  const is2019 = edition === '2019';
  const has = (bit: number): boolean => (flags & (1 << bit)) !== 0;
  return {
    serial: message.serial,
    text,
    flags,
    emergency: is2019 ? (flags & 0b11) === 0b10 : has(0),
    display: has(2),
    readAloud: has(3),
    advertisingScreen: has(4),
    canFaultCode: edition !== '2011' && has(5),
    flagClass: is2019 ? flags & 0b11 : null,
    textType: textType ?? null,
  };
}

function parseControl(message: PlatformMessage, edition: Edition): ReceivedControl {
  const { command, parameters } = decodeBody(terminalControl, message.body, edition);
  return { serial: message.serial, command, parameters, fields: parameters === '' ? [] : parameters.split(';') };
}

/**
 * Records texts and control commands as the terminal decodes them, whatever it does with them. Unreadable ones are
 * omitted.
 */
export class ReceivedCommands {
  readonly texts: ReceivedText[] = [];
  readonly controls: ReceivedControl[] = [];
  readonly #edition: Edition;
  readonly #limit: number;

  constructor(edition: Edition, limit: number) {
    this.#edition = edition;
    this.#limit = limit;
  }

  /** Records a message if it is a text or a control command. */
  record(message: PlatformMessage): void {
    try {
      if (message.messageId === textMessage.id) pushBounded(this.texts, parseText(message, this.#edition), this.#limit);
      if (message.messageId === terminalControl.id)
        pushBounded(this.controls, parseControl(message, this.#edition), this.#limit);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
    }
  }
}
