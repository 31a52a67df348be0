import type { StoredPublisher } from '@fleet/bus';
import { eventHeaders, eventSubject, headers } from '@fleet/bus';
import {
  type Edition,
  type Frame,
  type JoinedMessage,
  type Reassembler,
  type TerminalAddress,
  terminalKey,
  terminalRetransmitRequest,
  tryDecodeBody,
} from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import type { Session } from '../domain/device.ts';
import type { LogLimit } from '../domain/log-limit.ts';
import type { Match } from '../domain/pending-commands.ts';
import { smallestLocationBytes, uplinkKind } from '../domain/uplink-table.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { Connection } from '../net/connection.ts';
import type { TerminalProfiles } from '../store/terminal-profiles.ts';
import type { TelemetryWriter } from '../telemetry/telemetry-writer.ts';
import type { LoginHandler } from './login.ts';
import { multimediaAnswer } from './multimedia.ts';

/** Bits of the properties that a plain frame does not have: encryption and subpackage item. */
const notPlain = 0x3c00;

const Result = { success: 0, failure: 1, incorrect: 2, unsupported: 3 } as const;

export interface FrameHandlerOptions {
  readonly login: LoginHandler;
  readonly telemetry: TelemetryWriter;
  readonly events: StoredPublisher;
  readonly profiles: TerminalProfiles;
  readonly reassembler: Reassembler;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
  readonly logLimit: LogLimit;
  readonly unknownResult: number;
  /** Largest message that the broker takes. */
  readonly maxEventBytes: number;
  /** Canonical numbers of terminals that always answer with reply serial 0. */
  readonly zeroSerial: ReadonlySet<string>;
}

/** What a terminal says, frame by frame: to the login, to JetStream, to the command that waits for it, or back with a refusal. */
export class FrameHandler {
  readonly #o: FrameHandlerOptions;
  /** Split messages that are joined and on their way to JetStream. */
  readonly #unstored = new Set<string>();
  #lastEvent = 0;
  readonly #eventPrefix = `${process.pid}-${Date.now().toString(36)}`;

  constructor(options: FrameHandlerOptions) {
    this.#o = options;
  }

  /** Takes one good frame. The first branch is the hot path: a plain location of an authenticated terminal. */
  take(connection: Connection, frame: Frame): void {
    this.#o.metrics.hot.framesIn += 1;
    const { session } = connection;
    if (session === null || (frame.properties & notPlain) !== 0 || !frame.hasPhone(session.address.phoneBytes)) {
      this.#takeOther(connection, frame);
    } else if (frame.messageId === 0x0200 && frame.bodyLength >= 28)
      this.#o.telemetry.append(session, frame, frame.body);
    else this.#takeWhole(session, frame, frame.body);
  }

  /** Whatever is not a plain frame of the session's own terminal in the form in which it last spoke. */
  #takeOther(connection: Connection, frame: Frame): void {
    const imei = terminalKey(frame.phone);
    const { session } = connection;
    if (frame.encryption !== 0) {
      this.#refuse(connection, frame, Result.unsupported, 'encrypted');
      return;
    }
    if (frame.subpackage === null && this.#takeLogin(connection, frame, imei)) return;
    if (session === null && imei !== null && this.#o.login.mayBeginUnregistered(connection, frame)) {
      this.#o.login.beginUnregistered(connection, frame, imei, {
        onAccepted: () => this.take(connection, frame),
        onRefused: () => this.#refuse(connection, frame, Result.failure, 'unauthenticated'),
      });
      return;
    }
    if (session === null || imei === null || session.device.imei !== imei) {
      this.#refuse(connection, frame, Result.failure, session === null ? 'unauthenticated' : 'otherNumber');
      return;
    }
    if (!frame.hasPhone(session.address.phoneBytes)) readdress(session, frame);
    if (frame.subpackage === null) this.#takeWhole(session, frame, frame.body);
    else this.#takePart(session, frame);
  }

  #takeLogin(connection: Connection, frame: Frame, imei: string | null): boolean {
    if (frame.messageId === 0x0100) this.#o.login.register(connection, frame, imei);
    else if (frame.messageId === 0x0102)
      this.#o.login.authenticate(connection, frame, imei, (session) => this.#storeRegistration(session));
    else if (frame.messageId === 0x0004) this.#o.login.time(connection, frame);
    else return false;
    return true;
  }

  #refuse(connection: Connection, frame: Frame, result: number, reason: string): void {
    this.#o.metrics.refused.inc({ reason });
    connection.refusedFrames += 1;
    // Never acknowledge an acknowledgement.
    if (frame.messageId !== 0x0001) connection.reply(frame.address(), frame.serial, frame.messageId, result);
  }

  /** A message in one frame. */
  #takeWhole(session: Session, frame: Frame, body: Buffer): void {
    const { connection, device } = session;
    const { messageId } = frame;
    if (this.#takeLogin(connection, frame, device.imei)) return;
    switch (uplinkKind(messageId)) {
      case 'heartbeat':
        this.#reply(session, frame, Result.success);
        break;
      case 'logout':
        this.#o.login.logOut(connection, frame, device.imei, session.address);
        break;
      case 'location':
        this.#takeLocation(session, frame, body);
        break;
      case 'multimedia':
        this.#store(session, frame, body, () => {
          const { address } = session;
          const answer = multimediaAnswer({ edition: session.edition, address, frame, body });
          if (answer === null) this.#reply(session, frame, Result.success);
          else connection.send(answer(connection.takeSerial()));
        });
        break;
      default:
        this.#takeOtherWhole(session, frame, body);
    }
  }

  #takeOtherWhole(session: Session, frame: Frame, body: Buffer): void {
    const { messageId } = frame;
    const kind = uplinkKind(messageId);
    if (messageId === 0x0001) this.#takeGeneral(session, body);
    else if (kind === 'answer') {
      // The list alone is to be acknowledged, JT/T 1078 section 4.1.
      if (messageId === 0x1205) this.#reply(session, frame, Result.success);
      // What the terminal is made of is of use beyond the command that asked.
      if (messageId === 0x0107 && body.length <= this.#o.maxEventBytes)
        this.#publish(session, { messageId, serialNo: frame.serial, edition: session.edition }, body, () => undefined);
      if (messageId === 0x1003) this.#takeAttributes(session, body);
      else this.#takeSpecific(session, messageId, body);
    } else if (kind === 'retransmit') this.#resendParts(session, body);
    else if (kind === 'event') this.#store(session, frame, body, () => this.#reply(session, frame, Result.success));
    else if (messageId >= 0x8000 && (messageId < 0xe000 || messageId > 0xefff))
      this.#reply(session, frame, Result.unsupported);
    else this.#store(session, frame, body, () => this.#reply(session, frame, this.#o.unknownResult));
  }

  #takeLocation(session: Session, frame: Frame, body: Buffer): void {
    if (body.length >= smallestLocationBytes(frame.messageId) && body.length <= this.#o.maxEventBytes) {
      this.#o.telemetry.append(session, frame, body, this.#whenEnded(session, frame));
      return;
    }
    this.#o.metrics.dropped.inc({ kind: 'badBody' });
    session.connection.refusedFrames += 1;
    this.#reopen(session, frame);
    this.#reply(session, frame, Result.incorrect);
  }

  /** One part of a split message: acknowledged at once, unless it completes the message and that goes to JetStream first. */
  #takePart(session: Session, frame: Frame): void {
    const { messageId, subpackage } = frame;
    if (messageId === 0x0801 && subpackage?.no === 1 && frame.bodyLength >= 4)
      session.multimediaId = frame.body.readUInt32BE(0);
    const outcome = this.#o.reassembler.push(session.device.imei, frame);
    switch (outcome.kind) {
      case 'stored':
        this.#reply(session, frame, Result.success);
        break;
      case 'duplicate':
        // Of a message that is on its way to JetStream: only its storing acknowledges it.
        if (!this.#unstored.has(joinName(session, { messageId, total: subpackage?.total ?? 0 })))
          this.#reply(session, frame, Result.success);
        break;
      case 'refused':
        this.#o.metrics.dropped.inc({ kind: outcome.reason });
        this.#reply(session, frame, Result.failure);
        break;
      case 'complete':
        this.#takeJoined(session, frame, outcome.message);
    }
  }

  #takeJoined(session: Session, frame: Frame, message: JoinedMessage): void {
    const { body } = message;
    if (frame.messageId === 0x0801) {
      this.#store(session, frame, body, () => {
        const { connection, address, edition } = session;
        this.#reply(session, frame, Result.success);
        const answer = multimediaAnswer({ edition, address, frame, body });
        if (answer !== null) connection.send(answer(connection.takeSerial()));
      });
      return;
    }
    // Every part of a split answer is acknowledged; 0x1205 does that itself.
    if (uplinkKind(frame.messageId) === 'answer' && frame.messageId !== 0x1205)
      this.#reply(session, frame, Result.success);
    this.#takeWhole(session, frame, body);
  }

  #takeGeneral(session: Session, body: Buffer): void {
    const { device } = session;
    this.#count(session, 0x0001, body, device.pending.takeGeneral(body, this.#o.zeroSerial.has(device.imei)));
  }

  #takeSpecific(session: Session, messageId: number, body: Buffer): void {
    this.#count(session, messageId, body, session.device.pending.takeSpecific(messageId, body, session.edition));
  }

  /** 0x1003 is stored before it ends the command, so that the requester finds it. */
  #takeAttributes(session: Session, body: Buffer): void {
    const { device, edition } = session;
    const copy = Buffer.from(body);
    void this.#o.profiles
      .attributesReported(device.imei, copy, edition)
      .then(() => this.#takeSpecific(session, 0x1003, copy));
  }

  #count(session: Session, messageId: number, body: Buffer, match: Match): void {
    if (match === 'matched') return;
    this.#o.metrics.strayAnswers.inc({ reason: match });
    if (match === 'malformed') this.#o.metrics.dropped.inc({ kind: 'badBody' });
    if (!this.#o.logLimit.allows()) return;
    const replySerial = body.length >= 2 ? body.readUInt16BE(0) : null;
    const replyId = messageId === 0x0001 && body.length >= 4 ? body.readUInt16BE(2) : null;
    this.#o.log.info(
      { imei: session.device.imei, messageId, replySerial, replyId, match },
      'no command waits for this answer',
    );
  }

  /** 0x0005: parts of a split message are sent again, unchanged. */
  #resendParts(session: Session, body: Buffer): void {
    const request = tryDecodeBody(terminalRetransmitRequest, body, '2019');
    const message = request.ok ? session.device.findSplit(request.body.originalSerial) : undefined;
    if (!request.ok || message === undefined) {
      this.#o.metrics.dropped.inc({ kind: 'badRetransmitRequest' });
      return;
    }
    session.device.pending.partsRequested(message.firstSerial);
    for (const no of request.body.packageIds) {
      const bytes = message.frames[no - 1];
      if (bytes === undefined) continue;
      this.#o.metrics.hot.framesOut += 1;
      session.connection.send(bytes);
    }
  }

  /** Publishes what a terminal says on its own; `stored` runs once JetStream has it. */
  #store(session: Session, frame: Frame, body: Buffer, stored: () => void): void {
    if (body.length > this.#o.maxEventBytes) {
      this.#o.metrics.dropped.inc({ kind: 'tooLarge' });
      this.#reopen(session, frame);
      this.#reply(session, frame, Result.failure);
      return;
    }
    const event = { messageId: frame.messageId, serialNo: frame.serial, edition: session.edition };
    this.#publish(session, event, body, stored, this.#whenEnded(session, frame));
  }

  /** For a message of several parts that goes to JetStream now: what to call once that has succeeded or failed. Undefined for one in one frame. */
  #whenEnded(session: Session, frame: Frame): ((isStored: boolean) => void) | undefined {
    const { messageId, subpackage } = frame;
    if (subpackage === null) return undefined;
    const name = joinName(session, { messageId, total: subpackage.total });
    this.#unstored.add(name);
    return (isStored) => {
      this.#unstored.delete(name);
      if (!isStored) this.#reopen(session, frame);
    };
  }

  /** What is sent again of a split message that is not stored must not pass for a duplicate of something that is. */
  #reopen({ device }: Session, { messageId, subpackage }: Frame): void {
    if (subpackage !== null) this.#o.reassembler.reopen(device.imei, { messageId, total: subpackage.total });
  }

  /** What a terminal has told of itself when it registered; its acknowledgement was that of the login. */
  #storeRegistration(session: Session): void {
    const { connection } = session;
    const { registration, registeredEdition } = connection;
    if (registration === null) return;
    connection.registration = null;
    const event = { messageId: 0x0100, serialNo: 0, edition: registeredEdition ?? session.edition };
    void this.#o.profiles.registered(session.device.imei, registration, event.edition);
    this.#publish(session, event, registration, () => undefined);
  }

  #publish(
    { device, connection, phone }: Session,
    event: { readonly messageId: number; readonly serialNo: number; readonly edition: Edition },
    body: Buffer,
    stored: () => void,
    ended?: (isStored: boolean) => void,
  ): void {
    const head = headers();
    head.set(eventHeaders.phone, phone);
    head.set(eventHeaders.edition, event.edition);
    head.set(eventHeaders.messageId, event.messageId.toString(16).padStart(4, '0'));
    head.set(eventHeaders.serialNo, String(event.serialNo));
    head.set(eventHeaders.receivedAtMs, String(connection.receivedAtMs));
    this.#lastEvent += 1;
    // Makes our own repeats one message; what the terminal repeats is another.
    head.set('Nats-Msg-Id', `${this.#eventPrefix}-${this.#lastEvent}`);
    connection.unstored += 1;
    const done = (isStored: boolean): void => {
      connection.unstored -= 1;
      this.#o.metrics.events.inc({ result: isStored ? 'stored' : 'dropped' });
      ended?.(isStored);
      if (isStored) stored();
    };
    // A view on the read would keep all of it in memory until the confirmation.
    const payload = Buffer.from(body);
    if (!this.#o.events.publish(eventSubject(device.imei, event.messageId), payload, done, head)) done(false);
  }

  #reply(session: Session, frame: Frame, result: number): void {
    this.#o.metrics.hot.framesOut += 1;
    session.connection.reply(session.address, frame.serial, frame.messageId, result);
  }
}

const joinName = ({ device }: Session, { messageId, total }: Pick<JoinedMessage, 'messageId' | 'total'>): string =>
  `${device.imei}/${messageId}/${total}`;

/** The terminal speaks in its other form now: answers go out in that one. */
function readdress(session: Session, frame: Frame): void {
  const address: TerminalAddress = frame.address();
  session.address = address;
  session.phone = frame.phone;
  if (frame.header === '2019') session.edition = '2019';
  else if (session.edition === '2019') session.edition = '2013';
}
