import { type Frame, terminalKey } from '@fleet/jt808';
import { classifyUplink } from '../domain/classify-uplink.ts';
import type { Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { Connection } from '../net/connection.ts';
import type { TelemetryWriter } from '../telemetry/telemetry-writer.ts';
import { acknowledge, Result } from './acknowledge.ts';
import type { LoginHandler } from './login-handler.ts';
import type { MessageHandler } from './message-handler.ts';
import type { SplitMessages } from './split-messages.ts';

/** Property bits that are clear in a plain frame: encryption and subpackage. */
const nonPlainBits = 0x3c00;

interface FrameHandlerOptions {
  readonly login: LoginHandler;
  readonly messages: MessageHandler;
  readonly splitMessages: SplitMessages;
  readonly telemetry: TelemetryWriter;
  readonly metrics: GatewayMetrics;
}

/** Dispatches each frame of a connection: to the login, to the handler of its message, or to a refusal. */
export class FrameHandler {
  readonly #options: FrameHandlerOptions;

  constructor(options: FrameHandlerOptions) {
    this.#options = options;
  }

  /** Handles a valid frame. The `append` branch is the hot path: a plain location of an authenticated terminal. */
  handle(connection: Connection, frame: Frame): void {
    this.#options.metrics.hot.framesIn += 1;
    const { session } = connection;
    if (session === null || (frame.properties & nonPlainBits) !== 0 || !frame.hasPhone(session.address.phoneBytes))
      this.#handleForeignFrame(connection, frame);
    else if (frame.messageId === 0x0200 && frame.bodyLength >= 28)
      this.#options.telemetry.append(session, frame, frame.body);
    else this.#options.messages.handle(session, frame, frame.body);
  }

  /** Handles any frame except a plain one of the session's own terminal in its current digits. */
  #handleForeignFrame(connection: Connection, frame: Frame): void {
    const { login, messages } = this.#options;
    const imei = terminalKey(frame.phone);
    const { session } = connection;
    if (frame.encryption !== 0) {
      this.#refuse(connection, frame, Result.unsupported, 'encrypted');
      return;
    }
    if (frame.subpackage === null && classifyUplink(frame.messageId) === 'login') {
      login.handle(connection, frame, imei);
      return;
    }
    if (session === null && imei !== null && login.canBeginUnregistered(connection, frame)) {
      login.beginUnregistered(connection, frame, imei, {
        onAccepted: () => this.handle(connection, frame),
        onRefused: () => this.#refuse(connection, frame, Result.failure, 'unauthenticated'),
      });
      return;
    }
    if (session === null || imei === null || session.device.imei !== imei) {
      this.#refuse(connection, frame, Result.failure, session === null ? 'unauthenticated' : 'otherNumber');
      return;
    }
    if (!frame.hasPhone(session.address.phoneBytes)) updateAddress(session, frame);
    if (frame.subpackage === null) messages.handle(session, frame, frame.body);
    else this.#handleSubpackage(session, frame);
  }

  #refuse(connection: Connection, frame: Frame, result: number, reason: string): void {
    this.#options.metrics.refused.inc({ reason });
    connection.refusedFrameCount += 1;
    // An acknowledgement is never acknowledged.
    if (frame.messageId !== 0x0001) connection.reply(frame.toAddress(), frame.serial, frame.messageId, result);
  }

  /**
   * Handles one part of a split message. Acknowledges it immediately unless it completes a message that must be stored
   * first.
   */
  #handleSubpackage(session: Session, frame: Frame): void {
    const { messages, splitMessages, metrics } = this.#options;
    if (frame.messageId === 0x0801 && frame.subpackage?.no === 1 && frame.bodyLength >= 4)
      session.multimediaId = frame.body.readUInt32BE(0);
    const outcome = splitMessages.push(session, frame);
    switch (outcome.kind) {
      case 'stored':
        acknowledge(metrics, session, frame, Result.success);
        break;
      case 'duplicate':
        // Part of a message that waits for JetStream. It is acknowledged only when that is stored.
        if (!splitMessages.isInFlight(session, frame)) acknowledge(metrics, session, frame, Result.success);
        break;
      case 'refused':
        metrics.droppedMessages.inc({ kind: outcome.reason });
        acknowledge(metrics, session, frame, Result.failure);
        break;
      case 'complete':
        messages.handleReassembled(session, frame, outcome.message.body);
    }
  }
}

/** Follows a terminal that switched to its other number form; responses use the new form. */
function updateAddress(session: Session, frame: Frame): void {
  session.address = frame.toAddress();
  session.phone = frame.phone;
  if (frame.header === '2019') session.edition = '2019';
  else if (session.edition === '2019') session.edition = '2013';
}
