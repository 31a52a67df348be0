import type { JetStreamMessage } from './durable-consumer.ts';
import { eventHeaders } from './telemetry.ts';

const editions = ['2011', '2013', '2019'] as const;

/** An uplink message that a gateway stored in EVENTS; the body is raw. */
export interface TerminalEvent {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly edition: (typeof editions)[number];
  readonly body: Buffer;
  readonly receivedAtMs: number;
}

/** Parses the subject and the headers of a message of EVENTS. */
export function parseTerminalEvent(message: JetStreamMessage): TerminalEvent {
  const editionHeader = message.header(eventHeaders.edition);
  return {
    imei: message.subject.split('.')[1] ?? '',
    edition: editions.find((edition) => edition === editionHeader) ?? '2013',
    body: Buffer.from(message.data.buffer, message.data.byteOffset, message.data.byteLength),
    receivedAtMs: Number(message.header(eventHeaders.receivedAtMs)) || message.storedAtMs,
  };
}
