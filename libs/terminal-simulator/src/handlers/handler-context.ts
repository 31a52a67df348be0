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

/** What handlers may do to the terminal they answer for. */
export interface HandlerContext {
  readonly options: ResolvedOptions;
  readonly vehicle: Vehicle;
  readonly cameras: Cameras;
  readonly parameters: ParameterStore;
  readonly uploads: Uploads;
  readonly attachments: Attachments;
  readonly recordings: Recording[];
  /** Sends a message of the terminal's own. */
  send(message: TerminalMessage): void;
  /** Sends frames again, unchanged. */
  resend(frames: readonly OutgoingFrame[]): void;
  /** Parts of an earlier message, by the serial of its part 1 or, with null, the latest of that id. */
  findSentParts(
    first: { serial: number } | { messageId: number },
    partNumbers: readonly number[],
  ): readonly OutgoingFrame[];
  /** Drops the connection and comes back after a while, to another server if one is named. */
  dropAndReconnect(options: {
    downtimeMs: number;
    clearRegistration?: boolean;
    server?: { host: string; port: number };
  }): void;
  /** 0x8202: reports at another interval for a while; 0 ends that. */
  startTemporaryTracking(intervalMs: number, durationMs: number): void;
  /** Applies parameters that the terminal itself obeys. */
  applyParameters(): void;
  /** Next id of a picture or sound on the terminal. */
  nextMultimediaId(): number;
}

/** What a good terminal does about a message: what it sends, and what it does once that is on its way. */
export interface HandlerResult {
  responses: readonly TerminalMessage[];
  afterSend?: () => void | Promise<void>;
}

/** How one message id is handled. Throwing BodyError gives result 2. */
export type Handler = (message: PlatformMessage, terminal: HandlerContext) => HandlerResult;

/** Handlers by message id. */
export type Handlers = Readonly<Record<number, Handler>>;

/** 0x0001 for a message. */
export function createGeneralResponse(message: PlatformMessage, result: number): TerminalMessage {
  const body = { replySerial: message.serial, replyId: message.messageId, result };
  return { messageId: 0x0001, body: encodeBody(terminalGeneralResponse, body) };
}

/** Handling that is a 0x0001 with success, followed by an action. */
export function accept(message: PlatformMessage, after?: () => void | Promise<void>): HandlerResult {
  const responses = [createGeneralResponse(message, ReplyResult.success)];
  return after === undefined ? { responses } : { responses, afterSend: after };
}

/** Handling that is a 0x0001 with another result. */
export function refuse(message: PlatformMessage, result: number = ReplyResult.failure): HandlerResult {
  return { responses: [createGeneralResponse(message, result)] };
}

/** A message of the terminal from its definition. */
export function createMessage<D extends MessageDefinition>(
  definition: D,
  body: BodyOf<D>,
  edition: Edition,
): TerminalMessage {
  return { messageId: definition.id, body: encodeBody(definition, body, edition) };
}

/** Handler of one message definition, given its decoded body. */
export function defineHandler<D extends MessageDefinition>(
  definition: D,
  handler: (body: BodyOf<D>, message: PlatformMessage, terminal: HandlerContext) => HandlerResult,
): Handlers {
  return {
    [definition.id]: (message, terminal) =>
      handler(decodeBody(definition, message.body, terminal.options.edition), message, terminal),
  };
}

/** Text of a time on the camera's clock; what is no date counts as "none". */
export function toTimeText(time: CameraTime): string | null {
  return typeof time === 'string' ? time : null;
}
