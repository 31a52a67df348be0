import type { Outcome } from '@fleet/bus';
import type { Edition } from '@fleet/jt808';
import { hasReplySerial, type ResponseMatcher } from './response-matching.ts';
import { countRecordings, joinRecordings, validateResponse } from './response-validation.ts';
import type { SerialCounter } from './serial-counter.ts';

/** Wait for further replies after a terminal accepted a part of a split command, by its acknowledgement style. */
const partReplyTimeoutMs = {
  /**
   * Not yet known. All parts leave in one write, so a terminal that acknowledges each part sends its replies together.
   */
  unknown: 300,
  /** One reply for all parts, with the serial of the first. */
  whole: 0,
  /** One reply per part. The last one is the result of the command. */
  each: 3_000,
};
/** A list sent in several messages is complete after this quiet period, whatever its total. */
const collectQuietMs = 3_000;
/** The late response of a command that ended without one must not complete the next command of its kind. */
const zeroSerialQuarantineMs = 120_000;
const maxEnded = 32;

/** Result of matching a response. Everything but `matched` is counted and logged, and reaches no caller. */
export type MatchResult = 'matched' | 'late' | 'repeated' | 'wrongSerial' | 'wrongId' | 'malformed';

interface EndedCommand {
  readonly messageId: number;
  readonly serials: readonly number[];
  /** Serial of the last part of a split command. */
  readonly lastPartSerial: number | null;
  readonly hasResponse: boolean;
  readonly atMs: number;
}

/** Represents one command to one terminal, from its arrival to its outcome. */
export class PendingCommand {
  readonly commandId: string;
  readonly messageId: number;
  readonly matcher: ResponseMatcher;
  readonly outcome: Promise<Outcome>;
  /** Header serials that a response may refer to; for a split command the serial of its last part. */
  readonly serials: number[] = [];
  /** Header serials of the other parts. */
  readonly partSerials: number[] = [];
  /** True once a frame may have been sent. From then on the terminal's next session may respond, too. */
  isWritten = false;
  isEnded = false;
  generalResult: number | null = null;
  readonly recordings: Buffer[] = [];
  resolve: (outcome: Outcome) => void = () => undefined;
  deadlineTimer: NodeJS.Timeout | undefined;
  quietTimer: NodeJS.Timeout | undefined;

  constructor(commandId: string, messageId: number, matcher: ResponseMatcher) {
    this.commandId = commandId;
    this.messageId = messageId;
    this.matcher = matcher;
    this.outcome = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  clearTimers(): void {
    clearTimeout(this.deadlineTimer);
    clearTimeout(this.quietTimer);
  }

  has(serial: number): boolean {
    return this.serials.includes(serial) || this.partSerials.includes(serial);
  }
}

/** Holds the commands of one terminal without an outcome, and the rules that match responses to them. */
export class PendingCommands {
  readonly #serials: SerialCounter;
  readonly #commands: PendingCommand[] = [];
  #ended: EndedCommand[] | undefined;
  #partReplies: keyof typeof partReplyTimeoutMs = 'unknown';
  /** Called for every command that has ended. */
  onEnd: (command: PendingCommand, outcome: Outcome) => void = () => undefined;

  constructor(serials: SerialCounter) {
    this.#serials = serials;
  }

  get size(): number {
    return this.#commands.length;
  }

  /** Returns the commands without an outcome. */
  list(): PendingCommand[] {
    return this.#commands.slice();
  }

  find(commandId: string): PendingCommand | undefined {
    return this.#commands.find((command) => command.commandId === commandId);
  }

  /** Adds a command, which ends as timed out after `timeoutMs` at the latest. */
  add(command: PendingCommand, timeoutMs: number): void {
    this.#commands.push(command);
    command.deadlineTimer = setTimeout(() => this.end(command, { kind: 'timedOut' }), timeoutMs);
  }

  /** Records the serials of a sent command and reserves them until it has ended. */
  markSent(command: PendingCommand, serials: readonly number[]): void {
    for (const [index, serial] of serials.entries()) {
      this.#serials.reserve(serial);
      (index === serials.length - 1 ? command.serials : command.partSerials).push(serial);
    }
  }

  /** Returns true when a command whose response is matched by id has to wait for another one. */
  mustWait(command: PendingCommand): boolean {
    if (command.matcher.matchBy !== 'id') return false;
    const first = this.#commands.find(
      (other) => other.matcher.matchBy === 'id' && other.matcher.specificId === command.matcher.specificId,
    );
    return first !== undefined && first !== command;
  }

  /** Returns the next command that may be sent after `ended`. */
  findNext(ended: PendingCommand): PendingCommand | undefined {
    if (ended.matcher.matchBy !== 'id') return undefined;
    const next = this.#commands.find(
      (other) => other.matcher.matchBy === 'id' && other.matcher.specificId === ended.matcher.specificId,
    );
    return next !== undefined && next.serials.length === 0 ? next : undefined;
  }

  /** Handles the end of a session without a successor: ends the commands that were not written. */
  onSessionLost(): void {
    for (const command of this.#commands.slice()) if (!command.isWritten) this.end(command, { kind: 'notConnected' });
  }

  end(command: PendingCommand, outcome: Outcome): void {
    if (command.isEnded) return;
    command.isEnded = true;
    command.clearTimers();
    this.#commands.splice(this.#commands.indexOf(command), 1);
    const serials = [...command.serials, ...command.partSerials];
    for (const serial of serials) this.#serials.release(serial);
    if (serials.length > 0) {
      this.#ended ??= [];
      const hasResponse = outcome.kind === 'answered' || outcome.kind === 'unreadable';
      const lastPartSerial = command.partSerials.length === 0 ? null : (command.serials.at(-1) ?? null);
      this.#ended.push({ messageId: command.messageId, serials, lastPartSerial, hasResponse, atMs: performance.now() });
      if (this.#ended.length > maxEnded) this.#ended.shift();
    }
    command.resolve(outcome);
    this.onEnd(command, outcome);
  }

  /** Handles a terminal general response, 0x0001. With `zeroSerialQuirk` the terminal always sends reply serial 0. */
  handleGeneralResponse(body: Buffer, zeroSerialQuirk: boolean): MatchResult {
    if (body.length < 2) return 'malformed';
    const serial = body.readUInt16BE(0);
    if (body.length < 4) return this.#endTruncated(serial);
    const messageId = body.readUInt16BE(2);
    const command = this.#findByGeneralResponse(serial, messageId, zeroSerialQuirk);
    if (command === undefined) return this.#classifyUnmatched(serial, messageId);
    const result = body[4];
    if (result === undefined) {
      this.end(command, { kind: 'unreadable', detail: 'The general response of the terminal ends before its result.' });
      return 'matched';
    }
    this.#onGeneralResponse(command, serial, result);
    return 'matched';
  }

  /**
   * Ends the command of a general response that is truncated after its reply serial, which still identifies the
   * command.
   */
  #endTruncated(serial: number): MatchResult {
    const command = this.#commands.find((pending) => pending.has(serial));
    if (command === undefined) return 'malformed';
    const detail = 'The general response of the terminal ends before its message id.';
    this.end(command, { kind: 'unreadable', detail });
    return 'matched';
  }

  /** Handles a complete specific response, such as 0x1205. */
  handleSpecificResponse(messageId: number, body: Buffer, edition: Edition): MatchResult {
    const hasSerial = hasReplySerial(messageId, edition);
    if (hasSerial && body.length < 2) return 'malformed';
    const serial = hasSerial ? body.readUInt16BE(0) : null;
    const command = this.#commands.find(
      (pending) =>
        pending.matcher.specificId === messageId &&
        (serial === null ? pending.matcher.matchBy === 'id' && pending.serials.length > 0 : pending.has(serial)),
    );
    if (command === undefined) return serial === null ? 'late' : this.#classifyUnmatched(serial, null);
    const problem = validateResponse(messageId, body, edition);
    if (problem !== null) this.end(command, { kind: 'unreadable', detail: problem });
    else if (messageId === 0x1205) this.#collect(command, body, edition);
    else this.#complete(command, serial ?? command.serials.at(-1) ?? 0, { id: messageId, edition, body });
    return 'matched';
  }

  #onGeneralResponse(command: PendingCommand, serial: number, result: number): void {
    const isPart = command.partSerials.includes(serial) && !command.serials.includes(serial);
    if (result === 0 && command.matcher.general === 'unlessWorking') {
      command.generalResult = 0;
      return;
    }
    command.generalResult = result;
    if (result === 0 && isPart) {
      this.#onPartAccepted(command, serial);
      return;
    }
    if (command.partSerials.length > 0 && command.quietTimer !== undefined) this.#partReplies = 'each';
    this.#complete(command, serial, null);
  }

  // Some terminals acknowledge each part. Most acknowledge the whole message, some of them with the serial of its first
  // part.
  #onPartAccepted(command: PendingCommand, serial: number): void {
    if (serial !== command.partSerials[0]) this.#partReplies = 'each';
    const awaited = this.#partReplies;
    clearTimeout(command.quietTimer);
    if (awaited === 'whole') {
      this.#complete(command, serial, null);
      return;
    }
    command.quietTimer = setTimeout(() => {
      this.#partReplies = awaited === 'unknown' ? 'whole' : 'unknown';
      this.#complete(command, serial, null);
    }, partReplyTimeoutMs[awaited]);
  }

  /** Handles a request for parts of the split command with this first serial: its final reply is still outstanding. */
  onPartsRequested(firstSerial: number): void {
    const command = this.#commands.find(({ partSerials }) => partSerials[0] === firstSerial);
    if (command?.quietTimer === undefined) return;
    this.#partReplies = 'each';
    clearTimeout(command.quietTimer);
    command.quietTimer = undefined;
  }

  #findByGeneralResponse(serial: number, messageId: number, zeroSerialQuirk: boolean): PendingCommand | undefined {
    const exact = this.#commands.find((pending) => pending.messageId === messageId && pending.has(serial));
    if (exact !== undefined || serial !== 0 || !zeroSerialQuirk) return exact;
    const sameId = this.#commands.filter((pending) => pending.messageId === messageId && pending.serials.length > 0);
    const sinceMs = performance.now() - zeroSerialQuarantineMs;
    const isQuarantined = this.#ended?.some(
      (ended) => ended.messageId === messageId && !ended.hasResponse && ended.atMs > sinceMs,
    );
    return sameId.length === 1 && isQuarantined !== true ? sameId[0] : undefined;
  }

  #collect(command: PendingCommand, body: Buffer, edition: Edition): void {
    command.recordings.push(body);
    const { items, total } = countRecordings(command.recordings);
    const finish = (): void => {
      const joined = joinRecordings(command.recordings);
      this.#complete(command, joined.readUInt16BE(0), { id: 0x1205, edition, body: joined });
    };
    clearTimeout(command.quietTimer);
    if (items >= total) finish();
    else command.quietTimer = setTimeout(finish, collectQuietMs);
  }

  #complete(
    command: PendingCommand,
    serial: number,
    message: { id: number; edition: Edition; body: Buffer } | null,
  ): void {
    this.end(command, {
      kind: 'answered',
      answer: {
        commandMessageId: command.messageId,
        // A split command is identified by the serial of its first part, any other by the serial in the response.
        commandSerialNo: command.partSerials[0] ?? serial,
        result: command.generalResult,
        message:
          message === null
            ? null
            : { id: message.id, edition: message.edition, bodyBase64: message.body.toString('base64') },
      },
    });
  }

  #classifyUnmatched(serial: number, messageId: number | null): MatchResult {
    if (messageId !== null && this.#commands.some((pending) => pending.has(serial))) return 'wrongId';
    const ended = this.#ended?.find(
      (entry) => entry.serials.includes(serial) && (messageId === null || entry.messageId === messageId),
    );
    if (ended === undefined) return 'wrongSerial';
    // The reply to the first part ended the command, but the terminal replies to every part.
    if (serial === ended.lastPartSerial && this.#partReplies === 'whole') this.#partReplies = 'each';
    return ended.hasResponse ? 'repeated' : 'late';
  }
}
