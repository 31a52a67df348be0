import { terminalHeartbeat } from '@fleet/jt808';
import { generalResponse, type Handling, messageOf, type TerminalContext } from './answers/answering.ts';
import { handleMessage } from './answers/index.ts';
import { type Behaviour, type BehaviourTable, garble, Sleep } from './behaviour.ts';
import type { PlatformMessage } from './frame-log.ts';
import { pushBounded } from './media/stream-record.ts';
import type { OutgoingFrame } from './outbox.ts';
import type { TerminalMessage } from './terminal-options.ts';
import { Timers } from './timers.ts';

/** Messages that the modem of a sleeping terminal has room for. */
const MOST_MISSED = 50;

/** Ways a commander reaches the connection. */
export interface CommanderPort {
  encode(message: TerminalMessage): OutgoingFrame[];
  transmit(frames: readonly OutgoingFrame[]): void;
  raw(bytes: Buffer): void;
  drop(reason: string): void;
  /** The sleeping terminal has woken. */
  woke(): void;
  log(line: string): void;
}

/** Answers the platform's messages, well or badly, as the behaviours say. */
export class Commander {
  readonly #terminal: TerminalContext;
  readonly #behaviours: BehaviourTable;
  readonly #port: CommanderPort;
  readonly #timers = new Timers();
  #sleep: Sleep | null = null;
  /** What came while the terminal slept, if it catches up. */
  #missed: PlatformMessage[] = [];

  constructor(terminal: TerminalContext, behaviours: BehaviourTable, port: CommanderPort) {
    this.#terminal = terminal;
    this.#behaviours = behaviours;
    this.#port = port;
  }

  /** The whole terminal behaves in another way from now on. */
  behaviourChanged(): void {
    const { general } = this.#behaviours;
    this.#sleep = general.kind === 'sleeping' ? new Sleep(general) : null;
    this.#missed = [];
  }

  /** Forgets answers that were not sent yet. */
  stop(): void {
    this.#timers.clear();
  }

  /** Takes one message from the platform. */
  take(message: PlatformMessage): void {
    if (this.#sleep !== null && !this.#wakesFor(message, this.#sleep)) return;
    this.#takeAwake(message);
  }

  #wakesFor(message: PlatformMessage, sleep: Sleep): boolean {
    const knock = sleep.knock(message.messageId);
    if (knock === 'awake') {
      this.#port.woke();
      return true;
    }
    const { general } = this.#behaviours;
    if (general.kind !== 'sleeping') return false;
    if (general.catchesUp === true) pushBounded(this.#missed, message, MOST_MISSED);
    if (knock === 'firstKnock' && general.wakeAfterMs !== undefined) {
      this.#timers.after(general.wakeAfterMs, () => this.#wake(sleep));
    }
    return false;
  }

  /** Its time has come, unless it was woken before. */
  #wake(sleep: Sleep): void {
    if (this.#sleep !== sleep) return;
    const missed = this.#missed;
    this.#port.woke();
    for (const message of missed) this.#takeAwake(message);
  }

  #takeAwake(message: PlatformMessage): void {
    const custom = this.#terminal.options.respond?.(message);
    if (custom !== undefined) {
      for (const answer of custom) this.#send(answer);
      return;
    }
    this.#behave(this.#behaviours.for(message.messageId), message);
  }

  #behave(behaviour: Behaviour, message: PlatformMessage): void {
    switch (behaviour.kind) {
      case 'silent':
        return;
      case 'refusing':
        this.#send(generalResponse(message, behaviour.result));
        return;
      case 'slow':
        this.#timers.after(behaviour.delayMs, () => this.#obey(message));
        return;
      case 'mute':
        this.#afterwards(this.#handling(message));
        return;
      case 'twice':
        this.#twice(message, behaviour.gapMs ?? 0);
        return;
      case 'wrongSerial':
        this.#obey({ ...message, serial: (message.serial + (behaviour.offset ?? 1000)) & 0xffff });
        return;
      case 'garbage':
        this.#garbage(behaviour.form, message);
        return;
      case 'disconnecting':
        this.#disconnect(behaviour.when, message);
        return;
      default:
        this.#obey(message);
    }
  }

  #handling(message: PlatformMessage): Handling {
    return handleMessage(message, this.#terminal);
  }

  #obey(message: PlatformMessage): void {
    const handling = this.#handling(message);
    for (const answer of handling.answers) this.#send(answer);
    this.#afterwards(handling);
  }

  #twice(message: PlatformMessage, gapMs: number): void {
    const handling = this.#handling(message);
    for (const answer of handling.answers) this.#send(answer);
    this.#timers.after(gapMs, () => {
      for (const answer of handling.answers) this.#send(answer);
    });
    this.#afterwards(handling);
  }

  #garbage(form: Extract<Behaviour, { kind: 'garbage' }>['form'], message: PlatformMessage): void {
    for (const { messageId, body } of this.#handling(message).answers) {
      if (form === 'cutBody') {
        // Less than its fixed part is left: no reader can make sense of it.
        this.#send({ messageId, body: body.subarray(0, Math.min(3, Math.floor(body.length / 2))) });
        continue;
      }
      const heartbeat = messageOf(terminalHeartbeat, {}, this.#terminal.options.edition);
      const [other] = this.#port.encode(heartbeat);
      for (const frame of this.#port.encode({ messageId, body })) {
        this.#port.raw(garble(form, frame.wire, other?.wire ?? Buffer.alloc(0)));
      }
    }
  }

  #disconnect(when: 'before' | 'after' | 'midFrame', message: PlatformMessage): void {
    if (when === 'before') {
      this.#port.drop('disconnects before the answer');
      return;
    }
    const handling = this.#handling(message);
    if (when === 'midFrame') {
      const [answer] = handling.answers;
      const [frame] = answer === undefined ? [] : this.#port.encode(answer);
      if (frame !== undefined) this.#port.raw(frame.wire.subarray(0, Math.ceil(frame.wire.length / 2)));
    } else {
      for (const answer of handling.answers) this.#send(answer);
      this.#afterwards(handling);
    }
    this.#terminal.dropAndReturn({ awayMs: this.#terminal.options.restartMs });
  }

  #send(answer: TerminalMessage): void {
    const frames = this.#port.encode(answer);
    const { lostParts = [] } = answer;
    this.#port.transmit(frames.filter((frame) => !lostParts.includes(frame.subpackage?.no ?? 0)));
  }

  /** Runs the deed that follows an answer; what goes wrong with it shows in the log and in stream and upload records. */
  #afterwards(handling: Handling): void {
    const report = (error: unknown): void =>
      this.#port.log(`command failed: ${error instanceof Error ? error.message : String(error)}`);
    Promise.resolve()
      .then(() => handling.after?.())
      .catch(report);
  }
}
