import { terminalHeartbeat } from '@fleet/jt808';
import { type Behaviour, type BehaviourTable, corruptFrame, Sleep } from './behaviour.ts';
import type { PlatformMessage } from './frame-log.ts';
import {
  createGeneralResponse,
  createMessage,
  type HandlerContext,
  type HandlerResult,
} from './handlers/handler-context.ts';
import { handleMessage } from './handlers/index.ts';
import { pushBounded } from './media/stream-record.ts';
import type { OutgoingFrame } from './message-encoder.ts';
import type { TerminalMessage } from './terminal-options.ts';
import { Timers } from './timers.ts';

/** Capacity of a sleeping terminal's modem, in messages. */
const maxMissedMessages = 50;

/** Access of the engine to the connection. */
interface BehaviourEngineDeps {
  encode(message: TerminalMessage): OutgoingFrame[];
  transmit(frames: readonly OutgoingFrame[]): void;
  sendRaw(bytes: Buffer): void;
  drop(reason: string): void;
  /** The sleeping terminal has woken. */
  onWake(): void;
  log(line: string): void;
}

/** Responds to the platform's messages according to the configured behaviours. */
export class BehaviourEngine {
  readonly #terminal: HandlerContext;
  readonly #behaviours: BehaviourTable;
  readonly #deps: BehaviourEngineDeps;
  readonly #timers = new Timers();
  #sleep: Sleep | null = null;
  /** Messages received during sleep, if the terminal catches up. */
  #missedMessages: PlatformMessage[] = [];

  constructor(terminal: HandlerContext, behaviours: BehaviourTable, deps: BehaviourEngineDeps) {
    this.#terminal = terminal;
    this.#behaviours = behaviours;
    this.#deps = deps;
  }

  /** Applies a changed behaviour of the whole terminal. */
  onBehaviourChanged(): void {
    const { general } = this.#behaviours;
    this.#sleep = general.kind === 'sleeping' ? new Sleep(general) : null;
    this.#missedMessages = [];
  }

  /** Discards responses that were not sent yet. */
  stop(): void {
    this.#timers.clear();
  }

  /** Handles one message from the platform. */
  handle(message: PlatformMessage): void {
    if (this.#sleep !== null && !this.#isWokenBy(message, this.#sleep)) return;
    this.#handleAwake(message);
  }

  #isWokenBy(message: PlatformMessage, sleep: Sleep): boolean {
    const wakeResult = sleep.tryWake(message.messageId);
    if (wakeResult === 'awake') {
      this.#deps.onWake();
      return true;
    }
    const { general } = this.#behaviours;
    if (general.kind !== 'sleeping') return false;
    if (general.catchesUp === true) pushBounded(this.#missedMessages, message, maxMissedMessages);
    if (wakeResult === 'firstTry' && general.wakeAfterMs !== undefined) {
      this.#timers.runAfter(general.wakeAfterMs, () => this.#wake(sleep));
    }
    return false;
  }

  /** Wakes the terminal after its sleep time, unless it has woken before. */
  #wake(sleep: Sleep): void {
    if (this.#sleep !== sleep) return;
    const missedMessages = this.#missedMessages;
    this.#deps.onWake();
    for (const message of missedMessages) this.#handleAwake(message);
  }

  #handleAwake(message: PlatformMessage): void {
    const customResponses = this.#terminal.options.respond?.(message);
    if (customResponses !== undefined) {
      for (const response of customResponses) this.#send(response);
      return;
    }
    this.#applyBehaviour(this.#behaviours.get(message.messageId), message);
  }

  #applyBehaviour(behaviour: Behaviour, message: PlatformMessage): void {
    switch (behaviour.kind) {
      case 'silent':
        return;
      case 'refusing':
        this.#send(createGeneralResponse(message, behaviour.result));
        return;
      case 'slow':
        this.#timers.runAfter(behaviour.delayMs, () => this.#respond(message));
        return;
      case 'mute':
        this.#runAfterSend(this.#runHandler(message));
        return;
      case 'twice':
        this.#respondTwice(message, behaviour.gapMs ?? 0);
        return;
      case 'wrongSerial':
        this.#respond({ ...message, serial: (message.serial + (behaviour.offset ?? 1000)) & 0xffff });
        return;
      case 'garbage':
        this.#respondWithGarbage(behaviour.form, message);
        return;
      case 'disconnecting':
        this.#disconnect(behaviour.when, message);
        return;
      default:
        this.#respond(message);
    }
  }

  #runHandler(message: PlatformMessage): HandlerResult {
    return handleMessage(message, this.#terminal);
  }

  #respond(message: PlatformMessage): void {
    const result = this.#runHandler(message);
    for (const response of result.responses) this.#send(response);
    this.#runAfterSend(result);
  }

  #respondTwice(message: PlatformMessage, gapMs: number): void {
    const result = this.#runHandler(message);
    for (const response of result.responses) this.#send(response);
    this.#timers.runAfter(gapMs, () => {
      for (const response of result.responses) this.#send(response);
    });
    this.#runAfterSend(result);
  }

  #respondWithGarbage(form: Extract<Behaviour, { kind: 'garbage' }>['form'], message: PlatformMessage): void {
    for (const { messageId, body } of this.#runHandler(message).responses) {
      if (form === 'cutBody') {
        // Less than the fixed part remains, so no reader can interpret it.
        this.#send({ messageId, body: body.subarray(0, Math.min(3, Math.floor(body.length / 2))) });
        continue;
      }
      const heartbeat = createMessage(terminalHeartbeat, {}, this.#terminal.options.edition);
      const [other] = this.#deps.encode(heartbeat);
      for (const frame of this.#deps.encode({ messageId, body })) {
        this.#deps.sendRaw(corruptFrame(form, frame.wire, other?.wire ?? Buffer.alloc(0)));
      }
    }
  }

  #disconnect(when: 'before' | 'after' | 'midFrame', message: PlatformMessage): void {
    if (when === 'before') {
      this.#deps.drop('disconnecting before the response');
      return;
    }
    const result = this.#runHandler(message);
    if (when === 'midFrame') {
      const [response] = result.responses;
      const [frame] = response === undefined ? [] : this.#deps.encode(response);
      if (frame !== undefined) this.#deps.sendRaw(frame.wire.subarray(0, Math.ceil(frame.wire.length / 2)));
    } else {
      for (const response of result.responses) this.#send(response);
      this.#runAfterSend(result);
    }
    this.#terminal.dropAndReconnect({ downtimeMs: this.#terminal.options.restartMs });
  }

  #send(response: TerminalMessage): void {
    const frames = this.#deps.encode(response);
    const { lostParts = [] } = response;
    this.#deps.transmit(frames.filter((frame) => !lostParts.includes(frame.subpackage?.no ?? 0)));
  }

  /** Runs the action that follows a response. Errors appear in the log and in the stream and upload records. */
  #runAfterSend(result: HandlerResult): void {
    const logFailure = (error: unknown): void =>
      this.#deps.log(`command failed: ${error instanceof Error ? error.message : String(error)}`);
    Promise.resolve()
      .then(() => result.afterSend?.())
      .catch(logFailure);
  }
}
