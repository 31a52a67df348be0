import type { Outcome } from '@fleet/bus';
import type { Edition } from '@fleet/jt808';
import { checkAnswer, countRecordings, joinRecordings } from './answer-bodies.ts';
import type { AnswerRule } from './answer-rules.ts';
import type { SerialCounter } from './serial-counter.ts';

/** Reply timeouts after a terminal accepted a part of a split command, by how the terminal acknowledges parts. */
const partReplyTimeoutMs = {
  /** Not seen yet. All parts leave in one write, so a terminal that acknowledges each sends its replies together. */
  unknown: 300,
  /** One reply for all parts, with the serial of the first. */
  whole: 0,
  /** One reply for each part. The last one is the result of the command. */
  each: 3_000,
};
/** A list that comes in several messages is complete after this silence, whatever its total says. */
const collectQuietMs = 3_000;
/** A late answer of a command that ended unanswered must not complete the next of its kind. */
const zeroSerialQuarantineMs = 120_000;
const keepEnded = 32;

/** What became of an answer. Everything but `matched` is counted and logged, and goes to no caller. */
export type Match = 'matched' | 'late' | 'repeated' | 'wrongSerial' | 'wrongId' | 'malformed';

interface Ended {
  readonly messageId: number;
  readonly serials: readonly number[];
  /** Serial of the last part of a split command. */
  readonly lastPart: number | null;
  readonly answered: boolean;
  readonly atMs: number;
}

/** One command to one terminal, from its arrival to its outcome. */
export class PendingCommand {
  readonly commandId: string;
  readonly messageId: number;
  readonly rule: AnswerRule;
  readonly outcome: Promise<Outcome>;
  /** Header serials that an answer may name; for a split command that of its last part. */
  readonly serials: number[] = [];
  /** Header serials of the other parts. */
  readonly partSerials: number[] = [];
  /** True once a frame may have left: from then on the terminal's next session counts too. */
  isWritten = false;
  isEnded = false;
  generalResult: number | null = null;
  readonly recordings: Buffer[] = [];
  settle: (outcome: Outcome) => void = () => undefined;
  deadline: NodeJS.Timeout | undefined;
  quiet: NodeJS.Timeout | undefined;

  constructor(commandId: string, messageId: number, rule: AnswerRule) {
    this.commandId = commandId;
    this.messageId = messageId;
    this.rule = rule;
    this.outcome = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  clearTimers(): void {
    clearTimeout(this.deadline);
    clearTimeout(this.quiet);
  }

  has(serial: number): boolean {
    return this.serials.includes(serial) || this.partSerials.includes(serial);
  }
}

/** The commands of one terminal that have no outcome yet, and the rules by which its answers find them. */
export class PendingCommands {
  readonly #serials: SerialCounter;
  readonly #commands: PendingCommand[] = [];
  #ended: Ended[] | undefined;
  #partReplies: keyof typeof partReplyTimeoutMs = 'unknown';
  /** Hears of every command that has ended. */
  onEnd: (command: PendingCommand, outcome: Outcome) => void = () => undefined;

  constructor(serials: SerialCounter) {
    this.#serials = serials;
  }

  get size(): number {
    return this.#commands.length;
  }

  /** The commands without an outcome at this moment. */
  list(): PendingCommand[] {
    return this.#commands.slice();
  }

  find(commandId: string): PendingCommand | undefined {
    return this.#commands.find((command) => command.commandId === commandId);
  }

  /** Takes a command in; it ends as timed out after `timeoutMs` at the latest. */
  add(command: PendingCommand, timeoutMs: number): void {
    this.#commands.push(command);
    command.deadline = setTimeout(() => this.end(command, { kind: 'timedOut' }), timeoutMs);
  }

  /** Notes under which serials a command goes out: they are not given to anything else until it has ended. */
  sent(command: PendingCommand, serials: readonly number[]): void {
    for (const [index, serial] of serials.entries()) {
      this.#serials.reserve(serial);
      (index === serials.length - 1 ? command.serials : command.partSerials).push(serial);
    }
  }

  /** True when a command that is answered by id alone has to wait for another one. */
  mustWait(command: PendingCommand): boolean {
    if (command.rule.by !== 'id') return false;
    const first = this.#commands.find(
      (other) => other.rule.by === 'id' && other.rule.specificId === command.rule.specificId,
    );
    return first !== undefined && first !== command;
  }

  /** The next command that may go out now that `ended` is done with. */
  nextAfter(ended: PendingCommand): PendingCommand | undefined {
    if (ended.rule.by !== 'id') return undefined;
    const next = this.#commands.find(
      (other) => other.rule.by === 'id' && other.rule.specificId === ended.rule.specificId,
    );
    return next !== undefined && next.serials.length === 0 ? next : undefined;
  }

  /** The session is gone and none has taken its place: what was not written never will be. */
  sessionLost(): void {
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
      const answered = outcome.kind === 'answered' || outcome.kind === 'unreadable';
      const lastPart = command.partSerials.length === 0 ? null : (command.serials.at(-1) ?? null);
      this.#ended.push({ messageId: command.messageId, serials, lastPart, answered, atMs: performance.now() });
      if (this.#ended.length > keepEnded) this.#ended.shift();
    }
    command.settle(outcome);
    this.onEnd(command, outcome);
  }

  /** Takes a terminal general response, 0x0001. `zeroSerialQuirk`: the terminal always names serial 0. */
  takeGeneral(body: Buffer, zeroSerialQuirk: boolean): Match {
    if (body.length < 2) return 'malformed';
    const serial = body.readUInt16BE(0);
    if (body.length < 4) return this.#endCut(serial);
    const messageId = body.readUInt16BE(2);
    const command = this.#byGeneral(serial, messageId, zeroSerialQuirk);
    if (command === undefined) return this.#unmatched(serial, messageId);
    const result = body[4];
    if (result === undefined) {
      this.end(command, { kind: 'unreadable', detail: 'The general response of the terminal ends before its result.' });
      return 'matched';
    }
    this.#onGeneral(command, serial, result);
    return 'matched';
  }

  /** A general response that ends behind its reply serial: that much says which command it can not tell anything about. */
  #endCut(serial: number): Match {
    const command = this.#commands.find((pending) => pending.has(serial));
    if (command === undefined) return 'malformed';
    const detail = 'The general response of the terminal ends before its message id.';
    this.end(command, { kind: 'unreadable', detail });
    return 'matched';
  }

  /** Takes a whole specific answer, such as 0x1205. */
  takeSpecific(messageId: number, body: Buffer, edition: Edition): Match {
    const hasSerial = messageId !== 0x0107 && messageId !== 0x1003 && !(messageId === 0x0201 && edition === '2011');
    if (hasSerial && body.length < 2) return 'malformed';
    const serial = hasSerial ? body.readUInt16BE(0) : null;
    const command = this.#commands.find(
      (pending) =>
        pending.rule.specificId === messageId &&
        (serial === null ? pending.rule.by === 'id' && pending.serials.length > 0 : pending.has(serial)),
    );
    if (command === undefined) return serial === null ? 'late' : this.#unmatched(serial, null);
    const fault = checkAnswer(messageId, body, edition);
    if (fault !== null) this.end(command, { kind: 'unreadable', detail: fault });
    else if (messageId === 0x1205) this.#collect(command, body, edition);
    else this.#answer(command, serial ?? command.serials.at(-1) ?? 0, { id: messageId, edition, body });
    return 'matched';
  }

  #onGeneral(command: PendingCommand, serial: number, result: number): void {
    const isPart = command.partSerials.includes(serial) && !command.serials.includes(serial);
    if (result === 0 && command.rule.general === 'unlessWorking') {
      command.generalResult = 0;
      return;
    }
    command.generalResult = result;
    if (result === 0 && isPart) {
      this.#onPartAccepted(command, serial);
      return;
    }
    if (command.partSerials.length > 0 && command.quiet !== undefined) this.#partReplies = 'each';
    this.#answer(command, serial, null);
  }

  /** Some terminals acknowledge each part, most the whole message, and of those some with the serial of its first part. */
  #onPartAccepted(command: PendingCommand, serial: number): void {
    if (serial !== command.partSerials[0]) this.#partReplies = 'each';
    const awaited = this.#partReplies;
    clearTimeout(command.quiet);
    if (awaited === 'whole') {
      this.#answer(command, serial, null);
      return;
    }
    command.quiet = setTimeout(() => {
      this.#partReplies = awaited === 'unknown' ? 'whole' : 'unknown';
      this.#answer(command, serial, null);
    }, partReplyTimeoutMs[awaited]);
  }

  /** The terminal lacks parts of the split command with this first serial, so its reply to the whole is still to come. */
  partsRequested(firstSerial: number): void {
    const command = this.#commands.find(({ partSerials }) => partSerials[0] === firstSerial);
    if (command?.quiet === undefined) return;
    this.#partReplies = 'each';
    clearTimeout(command.quiet);
    command.quiet = undefined;
  }

  #byGeneral(serial: number, messageId: number, zeroSerialQuirk: boolean): PendingCommand | undefined {
    const exact = this.#commands.find((pending) => pending.messageId === messageId && pending.has(serial));
    if (exact !== undefined || serial !== 0 || !zeroSerialQuirk) return exact;
    const sameId = this.#commands.filter((pending) => pending.messageId === messageId && pending.serials.length > 0);
    const since = performance.now() - zeroSerialQuarantineMs;
    const isQuarantined = this.#ended?.some(
      (ended) => ended.messageId === messageId && !ended.answered && ended.atMs > since,
    );
    return sameId.length === 1 && isQuarantined !== true ? sameId[0] : undefined;
  }

  #collect(command: PendingCommand, body: Buffer, edition: Edition): void {
    command.recordings.push(body);
    const { items, total } = countRecordings(command.recordings);
    const finish = (): void => {
      const joined = joinRecordings(command.recordings);
      this.#answer(command, joined.readUInt16BE(0), { id: 0x1205, edition, body: joined });
    };
    clearTimeout(command.quiet);
    if (items >= total) finish();
    else command.quiet = setTimeout(finish, collectQuietMs);
  }

  #answer(
    command: PendingCommand,
    serial: number,
    message: { id: number; edition: Edition; body: Buffer } | null,
  ): void {
    this.end(command, {
      kind: 'answered',
      answer: {
        commandMessageId: command.messageId,
        // A split command is known by the serial of its first part, anything else by the one that was answered.
        commandSerialNo: command.partSerials[0] ?? serial,
        result: command.generalResult,
        message:
          message === null
            ? null
            : { id: message.id, edition: message.edition, bodyBase64: message.body.toString('base64') },
      },
    });
  }

  #unmatched(serial: number, messageId: number | null): Match {
    if (messageId !== null && this.#commands.some((pending) => pending.has(serial))) return 'wrongId';
    const ended = this.#ended?.find(
      (entry) => entry.serials.includes(serial) && (messageId === null || entry.messageId === messageId),
    );
    if (ended === undefined) return 'wrongSerial';
    // The first part's reply ended the command, but the terminal replies to every part.
    if (serial === ended.lastPart && this.#partReplies === 'whole') this.#partReplies = 'each';
    return ended.answered ? 'repeated' : 'late';
  }
}
