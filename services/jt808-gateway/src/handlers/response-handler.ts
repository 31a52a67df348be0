import { terminalRetransmitRequest, tryDecodeBody } from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import type { Session } from '../domain/device.ts';
import type { LogThrottle } from '../domain/log-throttle.ts';
import type { MatchResult } from '../domain/pending-commands.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { TerminalProfiles } from '../store/terminal-profiles.ts';

interface ResponseHandlerOptions {
  readonly profiles: TerminalProfiles;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
  readonly logThrottle: LogThrottle;
  /** Canonical numbers of terminals that always respond with reply serial 0. */
  readonly zeroSerialTerminals: ReadonlySet<string>;
}

/** Handles what terminals send because of a command: responses, and requests for parts of a split command. */
export class ResponseHandler {
  readonly #options: ResponseHandlerOptions;

  constructor(options: ResponseHandlerOptions) {
    this.#options = options;
  }

  /** Handles 0x0001. */
  handleGeneralResponse(session: Session, body: Buffer): void {
    const { device } = session;
    const isSerialZero = this.#options.zeroSerialTerminals.has(device.imei);
    this.#recordUnmatched(session, 0x0001, body, device.pending.handleGeneralResponse(body, isSerialZero));
  }

  /** Handles a response with a message of its own. 0x1003 is stored first, so that the requester finds the attributes. */
  handleSpecificResponse(session: Session, messageId: number, body: Buffer): void {
    if (messageId !== 0x1003) {
      this.#match(session, messageId, body);
      return;
    }
    const { device, edition } = session;
    const copy = Buffer.from(body);
    void this.#options.profiles
      .saveAttributes(device.imei, copy, edition)
      .then(() => this.#match(session, messageId, copy));
  }

  /** Handles 0x0005: sends the requested parts of a split command again, unchanged. */
  resendSubpackages(session: Session, body: Buffer): void {
    const request = tryDecodeBody(terminalRetransmitRequest, body, '2019');
    const message = request.ok ? session.device.findSplitMessage(request.body.originalSerial) : undefined;
    if (!request.ok || message === undefined) {
      this.#options.metrics.droppedMessages.inc({ kind: 'badRetransmitRequest' });
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

  #match(session: Session, messageId: number, body: Buffer): void {
    const matchResult = session.device.pending.handleSpecificResponse(messageId, body, session.edition);
    this.#recordUnmatched(session, messageId, body, matchResult);
  }

  #recordUnmatched(session: Session, messageId: number, body: Buffer, matchResult: MatchResult): void {
    if (matchResult === 'matched') return;
    this.#options.metrics.unmatchedResponses.inc({ reason: matchResult });
    if (matchResult === 'malformed') this.#options.metrics.droppedMessages.inc({ kind: 'badBody' });
    if (!this.#options.logThrottle.tryAcquire()) return;
    const replySerial = body.length >= 2 ? body.readUInt16BE(0) : null;
    const replyId = messageId === 0x0001 && body.length >= 4 ? body.readUInt16BE(2) : null;
    this.#options.log.info(
      { imei: session.device.imei, messageId, replySerial, replyId, match: matchResult },
      'no pending command for this response',
    );
  }
}
