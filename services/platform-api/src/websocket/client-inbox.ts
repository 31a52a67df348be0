import type { RawData, WebSocket } from 'ws';
import { type ClientMessage, type MessageId, maxMessageBytes, parseClientMessage } from './client-messages.ts';
import { closeCodes, reconnectReason } from './close-codes.ts';
import type { Connection } from './connection.ts';
import { MessageLimit } from './message-limit.ts';
import { encodeMessage } from './outgoing-event.ts';
import type { Stats } from './stats.ts';

/** Content of `error`. */
interface MessageError {
  readonly code: string;
  readonly message: string;
  readonly id: MessageId;
}

/**
 * Messages that may wait for an earlier response: half a minute of the permitted rate. A client that reads no responses
 * must not queue more.
 */
const maxWaiting = 60;

export const sendError = (connection: Connection, error: MessageError): void =>
  connection.send('error', encodeMessage('error', error));

/**
 * Receives the messages of one connection: enforces the limits, rejects invalid messages, and passes on the others one
 * after another, so that responses keep their order. Passes on nothing before `start`.
 */
export class ClientInbox {
  readonly #connection: Connection;
  readonly #stats: Stats;
  readonly #limit = new MessageLimit();
  /** End of all accepted work. */
  #tail: Promise<void>;
  #start: () => void = () => undefined;
  #waiting = 0;

  constructor(
    ws: WebSocket,
    connection: Connection,
    parts: {
      readonly stats: Stats;
      readonly handle: (message: ClientMessage) => Promise<void>;
      readonly onError: (error: unknown) => void;
    },
  ) {
    this.#connection = connection;
    this.#stats = parts.stats;
    this.#tail = new Promise((resolve) => {
      this.#start = resolve;
    });
    ws.on('message', (data: RawData, isBinary: boolean) => {
      const message = connection.isOpen ? this.#read(data as Buffer, isBinary) : null;
      if (message !== null) this.#enqueue(message, parts.handle, parts.onError);
    });
    ws.on('ping', (data: Buffer) => {
      if (this.#admit(data.length)) connection.pong(data);
    });
  }

  /** Starts passing on messages. */
  start(): void {
    this.#start();
  }

  #enqueue(
    message: ClientMessage,
    handle: (message: ClientMessage) => Promise<void>,
    onError: (error: unknown) => void,
  ): void {
    if (this.#waiting === maxWaiting) {
      this.#connection.close(closeCodes.tooSlow, reconnectReason('too slow'));
      return;
    }
    this.#waiting += 1;
    this.#tail = this.#tail.then(async () => {
      await this.#handle(message, handle, onError);
      this.#waiting -= 1;
    });
  }

  async #handle(
    message: ClientMessage,
    handle: (message: ClientMessage) => Promise<void>,
    onError: (error: unknown) => void,
  ): Promise<void> {
    if (!this.#connection.isOpen) return;
    try {
      await handle(message);
    } catch (error) {
      onError(error);
      const errorText = 'Records cannot be read at the moment. Retry.';
      sendError(this.#connection, { code: 'unavailable', message: errorText, id: message.id });
    }
  }

  /** Returns null for a message that was rejected. */
  #read(data: Buffer, isBinary: boolean): ClientMessage | null {
    if (!this.#admit(data.length)) return null;
    if (isBinary) {
      this.#count('invalid');
      sendError(this.#connection, { code: 'validation_failed', message: 'Messages must be JSON text.', id: null });
      return null;
    }
    const message = parseClientMessage(data.toString());
    this.#count('fault' in message ? 'invalid' : message.type);
    if (!('fault' in message)) return message;
    sendError(this.#connection, message.fault);
    return null;
  }

  #admit(bytes: number): boolean {
    const nowMs = performance.now();
    if (!this.#limit.take(nowMs)) return this.#strike('rate_limited', 'More than 20 messages in 10 seconds.', nowMs);
    if (bytes <= maxMessageBytes) return true;
    return this.#strike('message_too_large', `A message has at most ${maxMessageBytes} bytes.`, nowMs);
  }

  #strike(code: string, message: string, nowMs: number): false {
    this.#count('refused');
    sendError(this.#connection, { code, message, id: null });
    if (this.#limit.strike(nowMs)) this.#connection.close(closeCodes.limits, message);
    return false;
  }

  #count(type: string): void {
    this.#stats.count(this.#stats.received, type);
  }
}
