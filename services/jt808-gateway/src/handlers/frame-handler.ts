import type { JetStreamPublisher } from '@fleet/bus';
import { eventHeaders, eventSubject, headers } from '@fleet/bus';
import {
  type Edition,
  type Frame,
  type ReassembledMessage,
  type Reassembler,
  type TerminalAddress,
  terminalKey,
  terminalRetransmitRequest,
  tryDecodeBody,
} from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import { classifyUplink, minLocationBytes } from '../domain/classify-uplink.ts';
import type { Session } from '../domain/device.ts';
import type { LogThrottle } from '../domain/log-throttle.ts';
import type { MatchResult } from '../domain/pending-commands.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { Connection } from '../net/connection.ts';
import type { TerminalProfiles } from '../store/terminal-profiles.ts';
import type { TelemetryWriter } from '../telemetry/telemetry-writer.ts';
import type { LoginHandler } from './login-handler.ts';
import { createMultimediaResponse } from './multimedia.ts';

/** Property bits that are clear in a plain frame: encryption and subpackage. */
const nonPlainBits = 0x3c00;

const Result = { success: 0, failure: 1, incorrect: 2, unsupported: 3 } as const;

export interface FrameHandlerOptions {
  readonly login: LoginHandler;
  readonly telemetry: TelemetryWriter;
  readonly events: JetStreamPublisher;
  readonly profiles: TerminalProfiles;
  readonly reassembler: Reassembler;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
  readonly logThrottle: LogThrottle;
  readonly unknownMessageResult: number;
  /** Largest message that the broker accepts. */
  readonly maxEventBytes: number;
  /** Canonical numbers of terminals that always respond with reply serial 0. */
  readonly zeroSerialTerminals: ReadonlySet<string>;
}

/** Dispatches each frame of a terminal: to the login, to JetStream, to the pending command, or to a refusal. */
export class FrameHandler {
  readonly #options: FrameHandlerOptions;
  /** Keys of joined split messages that wait for JetStream. */
  readonly #reassembledInFlight = new Set<string>();
  #lastEventNo = 0;
  readonly #eventPrefix = `${process.pid}-${Date.now().toString(36)}`;

  constructor(options: FrameHandlerOptions) {
    this.#options = options;
  }

  /** Handles a valid frame. The `append` branch is the hot path: a plain location of an authenticated terminal. */
  handle(connection: Connection, frame: Frame): void {
    this.#options.metrics.hot.framesIn += 1;
    const { session } = connection;
    if (session === null || (frame.properties & nonPlainBits) !== 0 || !frame.hasPhone(session.address.phoneBytes)) {
      this.#handleForeignFrame(connection, frame);
    } else if (frame.messageId === 0x0200 && frame.bodyLength >= 28)
      this.#options.telemetry.append(session, frame, frame.body);
    else this.#handleMessage(session, frame, frame.body);
  }

  /** Handles any frame except a plain one of the session's own terminal in its current digits. */
  #handleForeignFrame(connection: Connection, frame: Frame): void {
    const imei = terminalKey(frame.phone);
    const { session } = connection;
    if (frame.encryption !== 0) {
      this.#refuse(connection, frame, Result.unsupported, 'encrypted');
      return;
    }
    if (frame.subpackage === null && this.#handleLogin(connection, frame, imei)) return;
    if (session === null && imei !== null && this.#options.login.canBeginUnregistered(connection, frame)) {
      this.#options.login.beginUnregistered(connection, frame, imei, {
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
    if (frame.subpackage === null) this.#handleMessage(session, frame, frame.body);
    else this.#handleSubpackage(session, frame);
  }

  #handleLogin(connection: Connection, frame: Frame, imei: string | null): boolean {
    if (frame.messageId === 0x0100) this.#options.login.register(connection, frame, imei);
    else if (frame.messageId === 0x0102)
      this.#options.login.authenticate(connection, frame, imei, (session) => this.#storeRegistration(session));
    else if (frame.messageId === 0x0004) this.#options.login.sendServerTime(connection, frame);
    else return false;
    return true;
  }

  #refuse(connection: Connection, frame: Frame, result: number, reason: string): void {
    this.#options.metrics.refused.inc({ reason });
    connection.refusedFrameCount += 1;
    // An acknowledgement is never acknowledged.
    if (frame.messageId !== 0x0001) connection.reply(frame.toAddress(), frame.serial, frame.messageId, result);
  }

  /** Handles a message in one frame. */
  #handleMessage(session: Session, frame: Frame, body: Buffer): void {
    const { connection, device } = session;
    const { messageId } = frame;
    if (this.#handleLogin(connection, frame, device.imei)) return;
    switch (classifyUplink(messageId)) {
      case 'heartbeat':
        this.#reply(session, frame, Result.success);
        break;
      case 'logout':
        this.#options.login.logOut(connection, frame, device.imei, session.address);
        break;
      case 'location':
        this.#handleLocation(session, frame, body);
        break;
      case 'multimedia':
        this.#store(session, frame, body, () => {
          const { address } = session;
          const response = createMultimediaResponse({ edition: session.edition, address, frame, body });
          if (response === null) this.#reply(session, frame, Result.success);
          else connection.send(response(connection.nextSerial()));
        });
        break;
      default:
        this.#handleUnclassified(session, frame, body);
    }
  }

  #handleUnclassified(session: Session, frame: Frame, body: Buffer): void {
    const { messageId } = frame;
    const kind = classifyUplink(messageId);
    if (messageId === 0x0001) this.#handleGeneralResponse(session, body);
    else if (kind === 'response') {
      // 0x1205 is the only response to acknowledge (JT/T 1078, section 4.1).
      if (messageId === 0x1205) this.#reply(session, frame, Result.success);
      // Terminal attributes are stored because they are useful beyond the command that queried them.
      if (messageId === 0x0107 && body.length <= this.#options.maxEventBytes)
        this.#publish(session, { messageId, serialNo: frame.serial, edition: session.edition }, body, () => undefined);
      if (messageId === 0x1003) this.#handleAttributes(session, body);
      else this.#handleSpecificResponse(session, messageId, body);
    } else if (kind === 'retransmit') this.#resendSubpackages(session, body);
    else if (kind === 'event') this.#store(session, frame, body, () => this.#reply(session, frame, Result.success));
    else if (messageId >= 0x8000 && (messageId < 0xe000 || messageId > 0xefff))
      this.#reply(session, frame, Result.unsupported);
    else this.#store(session, frame, body, () => this.#reply(session, frame, this.#options.unknownMessageResult));
  }

  #handleLocation(session: Session, frame: Frame, body: Buffer): void {
    if (body.length >= minLocationBytes(frame.messageId) && body.length <= this.#options.maxEventBytes) {
      this.#options.telemetry.append(session, frame, body, this.#trackUntilStored(session, frame));
      return;
    }
    this.#options.metrics.dropped.inc({ kind: 'badBody' });
    session.connection.refusedFrameCount += 1;
    this.#allowRetransmission(session, frame);
    this.#reply(session, frame, Result.incorrect);
  }

  /**
   * Handles one part of a split message. Acknowledges it immediately unless it completes a message that must be stored
   * first.
   */
  #handleSubpackage(session: Session, frame: Frame): void {
    const { messageId, subpackage } = frame;
    if (messageId === 0x0801 && subpackage?.no === 1 && frame.bodyLength >= 4)
      session.multimediaId = frame.body.readUInt32BE(0);
    const outcome = this.#options.reassembler.push(session.device.imei, frame);
    switch (outcome.kind) {
      case 'stored':
        this.#reply(session, frame, Result.success);
        break;
      case 'duplicate':
        // Part of a message that waits for JetStream. It is acknowledged only when that is stored.
        if (!this.#reassembledInFlight.has(reassemblyKey(session, { messageId, total: subpackage?.total ?? 0 })))
          this.#reply(session, frame, Result.success);
        break;
      case 'refused':
        this.#options.metrics.dropped.inc({ kind: outcome.reason });
        this.#reply(session, frame, Result.failure);
        break;
      case 'complete':
        this.#handleReassembled(session, frame, outcome.message);
    }
  }

  #handleReassembled(session: Session, frame: Frame, message: ReassembledMessage): void {
    const { body } = message;
    if (frame.messageId === 0x0801) {
      this.#store(session, frame, body, () => {
        const { connection, address, edition } = session;
        this.#reply(session, frame, Result.success);
        const response = createMultimediaResponse({ edition, address, frame, body });
        if (response !== null) connection.send(response(connection.nextSerial()));
      });
      return;
    }
    // Every part of a split response is acknowledged. 0x1205 is acknowledged as a message.
    if (classifyUplink(frame.messageId) === 'response' && frame.messageId !== 0x1205)
      this.#reply(session, frame, Result.success);
    this.#handleMessage(session, frame, body);
  }

  #handleGeneralResponse(session: Session, body: Buffer): void {
    const { device } = session;
    this.#recordUnmatched(
      session,
      0x0001,
      body,
      device.pending.handleGeneralResponse(body, this.#options.zeroSerialTerminals.has(device.imei)),
    );
  }

  #handleSpecificResponse(session: Session, messageId: number, body: Buffer): void {
    this.#recordUnmatched(
      session,
      messageId,
      body,
      session.device.pending.handleSpecificResponse(messageId, body, session.edition),
    );
  }

  /** Stores 0x1003 before it ends the command, so that the requester finds the attributes. */
  #handleAttributes(session: Session, body: Buffer): void {
    const { device, edition } = session;
    const copy = Buffer.from(body);
    void this.#options.profiles
      .saveAttributes(device.imei, copy, edition)
      .then(() => this.#handleSpecificResponse(session, 0x1003, copy));
  }

  #recordUnmatched(session: Session, messageId: number, body: Buffer, matchResult: MatchResult): void {
    if (matchResult === 'matched') return;
    this.#options.metrics.unmatchedResponses.inc({ reason: matchResult });
    if (matchResult === 'malformed') this.#options.metrics.dropped.inc({ kind: 'badBody' });
    if (!this.#options.logThrottle.tryAcquire()) return;
    const replySerial = body.length >= 2 ? body.readUInt16BE(0) : null;
    const replyId = messageId === 0x0001 && body.length >= 4 ? body.readUInt16BE(2) : null;
    this.#options.log.info(
      { imei: session.device.imei, messageId, replySerial, replyId, match: matchResult },
      'no pending command for this response',
    );
  }

  /** Handles 0x0005: sends the requested parts of a split message again, unchanged. */
  #resendSubpackages(session: Session, body: Buffer): void {
    const request = tryDecodeBody(terminalRetransmitRequest, body, '2019');
    const message = request.ok ? session.device.findSplitMessage(request.body.originalSerial) : undefined;
    if (!request.ok || message === undefined) {
      this.#options.metrics.dropped.inc({ kind: 'badRetransmitRequest' });
      return;
    }
    session.device.pending.onPartsRequested(message.firstSerial);
    for (const no of request.body.packageIds) {
      const bytes = message.frames[no - 1];
      if (bytes === undefined) continue;
      this.#options.metrics.hot.framesOut += 1;
      session.connection.send(bytes);
    }
  }

  /** Publishes an uplink message and calls `onStored` once JetStream has stored it. */
  #store(session: Session, frame: Frame, body: Buffer, onStored: () => void): void {
    if (body.length > this.#options.maxEventBytes) {
      this.#options.metrics.dropped.inc({ kind: 'tooLarge' });
      this.#allowRetransmission(session, frame);
      this.#reply(session, frame, Result.failure);
      return;
    }
    const event = { messageId: frame.messageId, serialNo: frame.serial, edition: session.edition };
    this.#publish(session, event, body, onStored, this.#trackUntilStored(session, frame));
  }

  /**
   * Tracks a split message until it is stored. Returns the callback for the result, or undefined for a message in one
   * frame.
   */
  #trackUntilStored(session: Session, frame: Frame): ((isStored: boolean) => void) | undefined {
    const { messageId, subpackage } = frame;
    if (subpackage === null) return undefined;
    const key = reassemblyKey(session, { messageId, total: subpackage.total });
    this.#reassembledInFlight.add(key);
    return (isStored) => {
      this.#reassembledInFlight.delete(key);
      if (!isStored) this.#allowRetransmission(session, frame);
    };
  }

  /** Lets the terminal resend a split message that was not stored, instead of treating it as a duplicate. */
  #allowRetransmission({ device }: Session, { messageId, subpackage }: Frame): void {
    if (subpackage !== null)
      this.#options.reassembler.allowRetransmission(device.imei, { messageId, total: subpackage.total });
  }

  /** Publishes the registration body after the login, which has already acknowledged it. */
  #storeRegistration(session: Session): void {
    const { connection } = session;
    const { registration, registeredEdition } = connection;
    if (registration === null) return;
    connection.registration = null;
    const event = { messageId: 0x0100, serialNo: 0, edition: registeredEdition ?? session.edition };
    void this.#options.profiles.saveRegistration(session.device.imei, registration, event.edition);
    this.#publish(session, event, registration, () => undefined);
  }

  #publish(
    { device, connection, phone }: Session,
    event: { readonly messageId: number; readonly serialNo: number; readonly edition: Edition },
    body: Buffer,
    onStored: () => void,
    onResult?: (isStored: boolean) => void,
  ): void {
    const messageHeaders = headers();
    messageHeaders.set(eventHeaders.phone, phone);
    messageHeaders.set(eventHeaders.edition, event.edition);
    messageHeaders.set(eventHeaders.messageId, event.messageId.toString(16).padStart(4, '0'));
    messageHeaders.set(eventHeaders.serialNo, String(event.serialNo));
    messageHeaders.set(eventHeaders.receivedAtMs, String(connection.receivedAtMs));
    this.#lastEventNo += 1;
    // Deduplicates republished messages. A message repeated by the terminal gets another id.
    messageHeaders.set('Nats-Msg-Id', `${this.#eventPrefix}-${this.#lastEventNo}`);
    connection.pendingAcks += 1;
    const done = (isStored: boolean): void => {
      connection.pendingAcks -= 1;
      this.#options.metrics.events.inc({ result: isStored ? 'stored' : 'dropped' });
      onResult?.(isStored);
      if (isStored) onStored();
    };
    // Copied, as a view of the read buffer would retain all of it until the confirmation.
    const payload = Buffer.from(body);
    if (!this.#options.events.publish(eventSubject(device.imei, event.messageId), payload, done, messageHeaders))
      done(false);
  }

  #reply(session: Session, frame: Frame, result: number): void {
    this.#options.metrics.hot.framesOut += 1;
    session.connection.reply(session.address, frame.serial, frame.messageId, result);
  }
}

const reassemblyKey = (
  { device }: Session,
  { messageId, total }: Pick<ReassembledMessage, 'messageId' | 'total'>,
): string => `${device.imei}/${messageId}/${total}`;

/** Follows a terminal that switched to its other number form; responses use the new form. */
function updateAddress(session: Session, frame: Frame): void {
  const address: TerminalAddress = frame.toAddress();
  session.address = address;
  session.phone = frame.phone;
  if (frame.header === '2019') session.edition = '2019';
  else if (session.edition === '2019') session.edition = '2013';
}
