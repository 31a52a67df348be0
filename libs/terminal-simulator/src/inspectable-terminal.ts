import { EventEmitter } from 'node:events';
import { FrameLog, type FrameRecord, type PlatformMessage, WaitTimeoutError } from './frame-log.ts';
import type { ReportRecord } from './location-journal.ts';
import { pushBounded } from './media/stream-record.ts';
import { ReceivedCommands, type ReceivedControl, type ReceivedText } from './received-commands.ts';
import type { TerminalState } from './session.ts';
import type { ResolvedOptions } from './terminal-options.ts';

/** Events of a terminal. */
interface TerminalEvents {
  state: [TerminalState];
  online: [];
  offline: [reason: string];
  /** Every whole message from the platform, before the response. */
  message: [PlatformMessage];
}

/** Records what the terminal exchanged with the platform, for tests to inspect and wait for. */
export abstract class InspectableTerminal extends EventEmitter<TerminalEvents> {
  readonly options: ResolvedOptions;
  readonly #frameLog: FrameLog;
  readonly #receivedCommands: ReceivedCommands;
  readonly #shortMessages: { text: string; atMs: number }[] = [];

  constructor(options: ResolvedOptions) {
    super();
    this.options = options;
    this.#frameLog = new FrameLog(options.logLimit);
    this.#receivedCommands = new ReceivedCommands(options.edition, options.logLimit);
  }

  abstract get state(): TerminalState;

  /** All location reports with their transmissions and acknowledgements, oldest first (bounded by `logLimit`). */
  abstract get reports(): readonly ReportRecord[];

  get phone(): string {
    return this.options.phone;
  }

  get isOnline(): boolean {
    return this.state === 'online';
  }

  /** Frames in both directions, oldest first (bounded by `logLimit`). */
  get frames(): readonly FrameRecord[] {
    return this.#frameLog.frames;
  }

  /** Reports that the platform has acknowledged: none of these may be lost. */
  get acknowledgedReports(): readonly ReportRecord[] {
    return this.reports.filter((report) => report.acknowledgedAtMs !== null);
  }

  /** Texts (0x8300) as the terminal decodes them, oldest first (bounded by `logLimit`). */
  get texts(): readonly ReceivedText[] {
    return this.#receivedCommands.texts;
  }

  /** Control commands (0x8105), including refused ones, oldest first (bounded by `logLimit`). */
  get controls(): readonly ReceivedControl[] {
    return this.#receivedCommands.controls;
  }

  /** Received SMS, oldest first (bounded by `logLimit`). */
  get shortMessages(): readonly { text: string; atMs: number }[] {
    return this.#shortMessages;
  }

  /** Returns the frames received from the platform with a message id. */
  receivedFrames(messageId: number): FrameRecord[] {
    return this.#frameLog.filter('in', messageId);
  }

  /** Returns the frames sent to the platform with a message id. */
  sentFrames(messageId: number): FrameRecord[] {
    return this.#frameLog.filter('out', messageId);
  }

  /** Returns the next message of an id that no earlier call returned, including messages received before this call. */
  waitForCommand(
    messageId: number,
    predicate: (message: PlatformMessage) => boolean = () => true,
    timeoutMs = 10_000,
  ): Promise<PlatformMessage> {
    return this.#frameLog.waitForMessage(messageId, predicate, timeoutMs);
  }

  /** Resolves when the terminal is registered and authenticated and accepts commands. */
  async waitUntilOnline(timeoutMs = 10_000): Promise<void> {
    if (this.isOnline) return;
    await new Promise<void>((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.off('online', done);
        reject(new WaitTimeoutError(`${this.phone} is not online after ${timeoutMs} ms (${this.state})`));
      }, timeoutMs);
      this.once('online', done);
    });
  }

  protected recordFrame(frame: Omit<FrameRecord, 'atMs'>): void {
    this.#frameLog.addFrame({ ...frame, atMs: Date.now() });
  }

  protected recordMessage(message: PlatformMessage): void {
    this.#frameLog.addMessage(message);
    this.#receivedCommands.record(message);
  }

  protected recordShortMessage(text: string): void {
    pushBounded(this.#shortMessages, { text, atMs: Date.now() }, this.options.logLimit);
  }
}
