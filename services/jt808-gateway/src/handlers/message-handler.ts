import { type Frame, getSender } from '@fleet/jt808';
import { classifyUplink, minLocationBytes } from '../domain/classify-uplink.ts';
import type { Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { EventWriter } from '../telemetry/event-writer.ts';
import type { TelemetryWriter } from '../telemetry/telemetry-writer.ts';
import { acknowledge, Result } from './acknowledge.ts';
import type { LoginHandler } from './login-handler.ts';
import { createMultimediaResponse } from './multimedia.ts';
import type { ResponseHandler } from './response-handler.ts';
import type { SplitMessages } from './split-messages.ts';

interface MessageHandlerOptions {
  readonly login: LoginHandler;
  readonly responses: ResponseHandler;
  readonly splitMessages: SplitMessages;
  readonly telemetry: TelemetryWriter;
  readonly events: EventWriter;
  readonly metrics: GatewayMetrics;
  /** Result with which messages without a definition are acknowledged. */
  readonly unknownMessageResult: number;
}

/** Handles the whole messages of authenticated terminals: stores and acknowledges them, or ends the pending command. */
export class MessageHandler {
  readonly #options: MessageHandlerOptions;

  constructor(options: MessageHandlerOptions) {
    this.#options = options;
  }

  /** Handles a message. `frame` is its only frame, or the one that completed it. */
  handle(session: Session, frame: Frame, body: Buffer): void {
    const { login, responses } = this.#options;
    switch (classifyUplink(frame.messageId)) {
      case 'login':
        login.handle(session.connection, frame, session.device.imei);
        break;
      case 'logout':
        login.logOut(session.connection, frame, session.device.imei, session.address);
        break;
      case 'heartbeat':
        this.#acknowledge(session, frame, Result.success);
        break;
      case 'location':
        this.#handleLocation(session, frame, body);
        break;
      case 'multimedia':
        this.#handleMultimedia(session, frame, body);
        break;
      case 'generalResponse':
        responses.handleGeneralResponse(session, body);
        break;
      case 'response':
        this.#handleResponse(session, frame, body);
        break;
      case 'retransmit':
        responses.resendSubpackages(session, body);
        break;
      case 'event':
        this.#store(session, frame, body, () => this.#acknowledge(session, frame, Result.success));
        break;
      case 'unknown':
        this.#handleUnknown(session, frame, body);
    }
  }

  /** Handles a message that was joined from parts, of which `frame` is the one that completed it. */
  handleReassembled(session: Session, frame: Frame, body: Buffer): void {
    if (frame.messageId === 0x0801) {
      this.#store(session, frame, body, () => {
        this.#acknowledge(session, frame, Result.success);
        sendMultimediaResponse(session, frame, body);
      });
      return;
    }
    // Every part of a split response is acknowledged. 0x1205 is acknowledged as a message.
    if (classifyUplink(frame.messageId) === 'response' && frame.messageId !== 0x1205)
      this.#acknowledge(session, frame, Result.success);
    this.handle(session, frame, body);
  }

  #handleLocation(session: Session, frame: Frame, body: Buffer): void {
    const { telemetry, events, splitMessages, metrics } = this.#options;
    if (body.length >= minLocationBytes(frame.messageId) && body.length <= events.maxBytes) {
      telemetry.append(session, frame, body, splitMessages.trackUntilStored(session, frame));
      return;
    }
    metrics.droppedMessages.inc({ kind: 'badBody' });
    session.connection.refusedFrameCount += 1;
    splitMessages.allowRetransmission(session, frame);
    this.#acknowledge(session, frame, Result.incorrect);
  }

  #handleMultimedia(session: Session, frame: Frame, body: Buffer): void {
    this.#store(session, frame, body, () => {
      if (!sendMultimediaResponse(session, frame, body)) this.#acknowledge(session, frame, Result.success);
    });
  }

  #handleResponse(session: Session, frame: Frame, body: Buffer): void {
    const { messageId } = frame;
    const { events, responses } = this.#options;
    // 0x1205 is the only response to acknowledge (JT/T 1078, section 4.1).
    if (messageId === 0x1205) this.#acknowledge(session, frame, Result.success);
    // Terminal attributes are stored because they are useful beyond the command that queried them.
    if (messageId === 0x0107 && body.length <= events.maxBytes)
      events.write(session, { messageId, serialNo: frame.serial, edition: session.edition }, body);
    responses.handleSpecificResponse(session, messageId, body);
  }

  /** Stores a message without a definition, unless its id is one of the platform's. */
  #handleUnknown(session: Session, frame: Frame, body: Buffer): void {
    if (getSender(frame.messageId) === 'platform') this.#acknowledge(session, frame, Result.unsupported);
    else this.#store(session, frame, body, () => this.#acknowledge(session, frame, this.#options.unknownMessageResult));
  }

  /** Publishes a message and calls `onStored` once JetStream has stored it. */
  #store(session: Session, frame: Frame, body: Buffer, onStored: () => void): void {
    const { events, splitMessages, metrics } = this.#options;
    if (body.length > events.maxBytes) {
      metrics.droppedMessages.inc({ kind: 'tooLarge' });
      splitMessages.allowRetransmission(session, frame);
      this.#acknowledge(session, frame, Result.failure);
      return;
    }
    const event = { messageId: frame.messageId, serialNo: frame.serial, edition: session.edition };
    events.write(session, event, body, onStored, splitMessages.trackUntilStored(session, frame));
  }

  #acknowledge(session: Session, frame: Frame, result: number): void {
    acknowledge(this.#options.metrics, session, frame, result);
  }
}

/** Sends the 0x8800 that ends an upload. Returns false if 0x8001 is the response. */
function sendMultimediaResponse({ connection, address, edition }: Session, frame: Frame, body: Buffer): boolean {
  const response = createMultimediaResponse({ edition, address, frame, body });
  if (response === null) return false;
  connection.send(response(connection.nextSerial()));
  return true;
}
