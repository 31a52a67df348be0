import {
  type BodyOf,
  type CameraTime,
  decodeBody,
  type Edition,
  encodeBody,
  type MessageDefinition,
  ReplyResult,
  terminalGeneralResponse,
} from '@fleet/jt808';
import type { Attachments } from '../attachments/attachments.ts';
import type { Cameras } from '../cameras.ts';
import type { PlatformMessage } from '../frame-log.ts';
import type { OutgoingFrame } from '../message-encoder.ts';
import type { ParameterStore } from '../parameter-store.ts';
import type { Recording } from '../recordings.ts';
import type { ResolvedOptions, TerminalMessage } from '../terminal-options.ts';
import type { Uploads } from '../uploads/uploads.ts';
import type { Vehicle } from '../vehicle.ts';

/** Access of handlers to their terminal. */
export interface HandlerContext {
  readonly options: ResolvedOptions;
  readonly vehicle: Vehicle;
  readonly cameras: Cameras;
  readonly parameters: ParameterStore;
  readonly uploads: Uploads;
  readonly attachments: Attachments;
  readonly recordings: Recording[];
  /** Sends an unsolicited message. */
  send(message: TerminalMessage): void;
  /** Sends frames again, unchanged. */
  resend(frames: readonly OutgoingFrame[]): void;
  /**
   * Returns parts of an earlier message, by the serial of its part 1 or, with a message id, of the latest message of
   * that id.
   */
  findSentParts(
    first: { serial: number } | { messageId: number },
    partNumbers: readonly number[],
  ): readonly OutgoingFrame[];
  /** Drops the connection and reconnects after a downtime, to another server if one is given. */
  dropAndReconnect(options: {
    downtimeMs: number;
    clearRegistration?: boolean;
    server?: { host: string; port: number };
  }): void;
  /** Handles 0x8202: reports at another interval for a limited time; interval 0 ends tracking. */
  startTemporaryTracking(intervalMs: number, durationMs: number): void;
  /** Applies the parameters that affect the terminal itself. */
  applyParameters(): void;
  /** Returns the next id of a picture or audio file on the terminal. */
  nextMultimediaId(): number;
}

/** Reaction of a conforming terminal to a message: the responses, and the action after they were sent. */
export interface HandlerResult {
  responses: readonly TerminalMessage[];
  afterSend?: () => void | Promise<void>;
}

/** Handler of one message id. A thrown BodyError becomes result 2. */
export type Handler = (message: PlatformMessage, terminal: HandlerContext) => HandlerResult;

/** Handlers by message id. */
export type Handlers = Readonly<Record<number, Handler>>;

/** Creates the 0x0001 for a message. */
export function createGeneralResponse(message: PlatformMessage, result: number): TerminalMessage {
  const body = { replySerial: message.serial, replyId: message.messageId, result };
  return { messageId: 0x0001, body: encodeBody(terminalGeneralResponse, body) };
}

/** Responds with 0x0001 and success, then runs an action. */
export function accept(message: PlatformMessage, after?: () => void | Promise<void>): HandlerResult {
  const responses = [createGeneralResponse(message, ReplyResult.success)];
  return after === undefined ? { responses } : { responses, afterSend: after };
}

/** Responds with 0x0001 and another result. */
export function refuse(message: PlatformMessage, result: number = ReplyResult.failure): HandlerResult {
  return { responses: [createGeneralResponse(message, result)] };
}

/** Creates a message of the terminal from its definition. */
export function createMessage<D extends MessageDefinition>(
  definition: D,
  body: BodyOf<D>,
  edition: Edition,
): TerminalMessage {
  return { messageId: definition.id, body: encodeBody(definition, body, edition) };
}

/** Creates the handler of one message definition, which receives the decoded body. */
export function defineHandler<D extends MessageDefinition>(
  definition: D,
  handler: (body: BodyOf<D>, message: PlatformMessage, terminal: HandlerContext) => HandlerResult,
): Handlers {
  return {
    [definition.id]: (message, terminal) =>
      handler(decodeBody(definition, message.body, terminal.options.edition), message, terminal),
  };
}

/** Returns a time on the camera's clock as text; an invalid date counts as "none". */
export function toTimeText(time: CameraTime): string | null {
  return typeof time === 'string' ? time : null;
}
