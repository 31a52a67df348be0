import type { IncomingCommand, Outcome } from '@fleet/bus';
import { EncodeError, encodeRawMessage } from '@fleet/jt808';
import { activeTrace, type Logger, type TraceContext, type TraceSpan } from '@fleet/service-kit';
import { buildCommandMessage, type CommandMessage } from '../domain/command-message.ts';
import type { Device, Devices } from '../domain/device.ts';
import { PendingCommand } from '../domain/pending-commands.ts';
import { getResponseMatcher } from '../domain/response-matching.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { CommandRecord, CommandRecords, CommandStatus } from '../store/command-records.ts';
import { endTerminalSpan, startTerminalSpan } from './trace-command.ts';

/** Longest timeout of any caller. */
const maxTimeoutMs = 120_000;
/** Extra retention after the deadline of a command, as clocks differ between pods. */
const responseRetentionMs = 5_000;

/** Longer than the delay of a message that the broker sent before it knew of the new pod. */
const fenceTtlMs = 3_000;
const maxFenced = 1_000;

const adoptedCommandKey = (imei: string, commandId: string): string => `${imei}/${commandId}`;

/** Command whose frame was sent. */
interface SentCommand {
  readonly imei: string;
  readonly commandId: string;
  readonly messageId: number;
  readonly serialNo: number;
}

interface CommandRunnerOptions {
  readonly devices: Devices;
  readonly records: CommandRecords;
  readonly maxPerTerminal: number;
  readonly wakeUpIntervalMs: number;
  /** Called for every command that was written to its terminal's socket. */
  readonly onSent: (sent: SentCommand) => void;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/** Work for a pending command. Commands adopted from other pods have none. */
interface Job {
  readonly incoming: IncomingCommand;
  readonly message: CommandMessage;
  readonly deadlineAtMs: number;
  repeatTimer: NodeJS.Timeout | undefined;
  /** True when another pod claimed the command first. */
  isClaimedElsewhere: boolean;
  /** Trace of the caller. */
  readonly trace: TraceContext | undefined;
  /** From the first frame to the outcome. */
  span: TraceSpan | undefined;
}

/** Sends commands from the bus to terminals and returns exactly one outcome for each. */
export class CommandRunner {
  readonly #options: CommandRunnerOptions;
  readonly #jobs = new Map<PendingCommand, Job>();
  /**
   * Commands adopted from other pods, by terminal and Command-Id. Their responses are retained for the retry that will
   * arrive here.
   */
  readonly #adopted = new Map<string, PendingCommand>();
  readonly #fenced = new Map<string, number>();

  constructor(options: CommandRunnerOptions) {
    this.#options = options;
  }

  /**
   * Number of commands that were written or wait to be written, for terminals with a session here or lost from here.
   */
  get inFlight(): number {
    return this.#jobs.size;
  }

  /** Runs one command. The caller has already joined retries. */
  async run(incoming: IncomingCommand): Promise<Outcome> {
    const outcome = incoming.isRetry ? await this.#joinExisting(incoming) : await this.#start(incoming);
    const { imei, commandId, correlationId, command } = incoming;
    this.#options.metrics.commands.inc({ kind: command.kind, outcome: outcome.kind });
    this.#options.log.debug(
      { imei, commandId, correlationId, kind: command.kind, outcome: outcome.kind },
      'command ended',
    );
    return outcome;
  }

  /**
   * Drops the remaining commands at shutdown without an outcome. Their records let the terminal's next session, on
   * another pod, receive the response. Returning "timed out" would withhold that response from the caller.
   */
  stop(): void {
    for (const job of this.#jobs.values()) clearInterval(job.repeatTimer);
    for (const command of [...this.#jobs.keys(), ...this.#adopted.values()]) command.clearTimers();
  }

  /**
   * Records that another pod has the terminal. Commands that the broker still delivers here also reach that pod, which
   * responds.
   */
  markFenced(imei: string): void {
    this.#fenced.set(imei, performance.now());
    if (this.#fenced.size < maxFenced) return;
    for (const fencedImei of this.#fenced.keys()) if (!this.#isFenced(fencedImei)) this.#fenced.delete(fencedImei);
  }

  #isFenced(imei: string): boolean {
    return performance.now() - (this.#fenced.get(imei) ?? Number.NEGATIVE_INFINITY) < fenceTtlMs;
  }

  /** Observes the commands of a terminal. Call it once per Device. */
  observe(device: Device): void {
    device.pending.onEnd = (command, outcome) => this.#onEnded(device, command, outcome);
  }

  /** Adopts a command that an earlier session left on another pod, so that the terminal's response is matched. */
  adopt(device: Device, record: CommandRecord): PendingCommand {
    const key = adoptedCommandKey(device.imei, record.commandId);
    const existing = device.pending.find(record.commandId) ?? this.#adopted.get(key);
    if (existing !== undefined) return existing;
    const edition = device.session?.edition ?? '2013';
    const command = new PendingCommand(
      record.commandId,
      record.messageId,
      getResponseMatcher(record.messageId, edition),
    );
    const leftMs = Math.min(maxTimeoutMs, Math.max(1, record.deadlineAtMs - Date.now()));
    command.isWritten = true;
    device.pending.add(command, leftMs);
    if (record.serials.length > 0) device.pending.markSent(command, [...record.partSerials, ...record.serials]);
    this.#adopted.set(key, command);
    const evictionTimer = setTimeout(() => this.#adopted.delete(key), leftMs + responseRetentionMs);
    evictionTimer.unref();
    return command;
  }

  async #start(incoming: IncomingCommand): Promise<Outcome> {
    const device = this.#options.devices.get(incoming.imei);
    const session = device?.session;
    if (device === undefined || session === undefined || session === null)
      return this.#isFenced(incoming.imei) ? this.#waitForTimeout(incoming.timeoutMs) : { kind: 'notConnected' };
    if (session.isLeaving) return { kind: 'busy', detail: 'The gateway is shutting down.' };
    if (device.pending.size >= this.#options.maxPerTerminal)
      return { kind: 'busy', detail: 'Too many commands are in flight for this device.' };
    let message: CommandMessage;
    try {
      message = buildCommandMessage(incoming.command, session.edition);
    } catch (error) {
      if (error instanceof EncodeError)
        return { kind: 'refused', detail: `The command cannot be sent: ${error.message}.` };
      throw error;
    }
    const command = new PendingCommand(
      incoming.commandId,
      message.messageId,
      getResponseMatcher(message.messageId, session.edition),
    );
    const timeoutMs = Math.min(maxTimeoutMs, Math.max(1, incoming.timeoutMs));
    this.#jobs.set(command, {
      incoming,
      message,
      deadlineAtMs: Date.now() + timeoutMs,
      repeatTimer: undefined,
      isClaimedElsewhere: false,
      trace: activeTrace(),
      span: undefined,
    });
    device.pending.add(command, timeoutMs);
    if (!device.pending.mustWait(command)) this.#sendInBackground(device, command);
    return command.outcome;
  }

  /**
   * Handles a retry of a command that this pod does not know. Sends a frame only if no pod has sent one according to
   * Redis.
   */
  async #joinExisting(incoming: IncomingCommand): Promise<Outcome> {
    const { imei, commandId, timeoutMs } = incoming;
    const existing =
      this.#options.devices.get(imei)?.pending.find(commandId) ?? this.#adopted.get(adoptedCommandKey(imei, commandId));
    if (existing !== undefined) return existing.outcome;
    let status: CommandStatus;
    try {
      status = await this.#options.records.readStatus(imei, commandId);
    } catch (error) {
      this.#onRedisFailure('readCommand', error);
      return this.#waitForTimeout(timeoutMs);
    }
    // No pod has sent a frame: the command was lost with the broker. `claim` prevents two pods from both sending it.
    if (status.state === 'neverSent') return this.#start(incoming);
    if (status.state === 'ended') return status.outcome ?? this.#waitForTimeout(timeoutMs);
    const device = this.#options.devices.get(imei);
    if (device === undefined) return this.#waitForTimeout(timeoutMs);
    const deadlineAtMs = Math.min(status.record.deadlineAtMs, Date.now() + timeoutMs);
    return this.adopt(device, { ...status.record, deadlineAtMs }).outcome;
  }

  #waitForTimeout(timeoutMs: number): Promise<Outcome> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve({ kind: 'timedOut' }), Math.min(maxTimeoutMs, timeoutMs));
      timer.unref();
    });
  }

  #sendInBackground(device: Device, command: PendingCommand): void {
    this.#send(device, command).catch((error: unknown) => {
      this.#options.log.error({ err: error, imei: device.imei }, 'could not send a command');
      device.pending.end(command, { kind: 'refused', detail: 'The gateway failed.', isOurFault: true });
    });
  }

  async #send(device: Device, command: PendingCommand): Promise<void> {
    const job = this.#jobs.get(command);
    const initialSession = device.session;
    if (job === undefined || initialSession === null) return;
    const { body, messageId } = job.message;
    const header = { edition: initialSession.edition, phone: initialSession.address };
    const parts = Math.max(1, Math.ceil(body.length / 1023));
    const serial = device.serials.nextSerialRange(parts);
    device.pending.markSent(
      command,
      Array.from({ length: parts }, (_, index) => (serial + index) & 0xffff),
    );
    // Another pod has claimed the command and responds to the caller.
    if (!(await this.#save(device, command, job))) return;
    const { session } = device;
    if (command.isEnded) return;
    if (session === null) {
      if (!command.isWritten) device.pending.end(command, { kind: 'notConnected' });
      return;
    }
    const frames = encodeRawMessage(messageId, body, { ...header, phone: session.address, serial });
    if (frames.length > 1) device.retainSplitMessage({ firstSerial: serial, frames });
    command.isWritten = true;
    job.span ??= startTerminalSpan(messageId, job.trace);
    this.#options.metrics.hot.framesOut += frames.length;
    session.connection.send(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames));
    const { commandId, correlationId } = job.incoming;
    this.#options.log.debug({ imei: device.imei, commandId, correlationId, messageId, serial }, 'command sent');
    this.#options.onSent({ imei: device.imei, commandId, messageId, serialNo: (serial + parts - 1) & 0xffff });
    // A sleeping terminal receives one of several queries. Each has its own serial, and any response counts.
    if (job.incoming.command.kind === 'wakeUp')
      job.repeatTimer ??= setInterval(() => this.#sendInBackground(device, command), this.#options.wakeUpIntervalMs);
  }

  /** Returns false when another pod has the command. */
  async #save(device: Device, command: PendingCommand, job: Job): Promise<boolean> {
    const { serials, partSerials, messageId, commandId } = command;
    const record = { commandId, messageId, serials, partSerials, deadlineAtMs: job.deadlineAtMs };
    try {
      if (command.isWritten) await this.#options.records.save(device.imei, record);
      else job.isClaimedElsewhere = !(await this.#options.records.claim(device.imei, record));
    } catch (error) {
      // The command is sent even without Redis. Only a crash of this pod would then lose its response.
      this.#onRedisFailure('saveCommand', error);
    }
    return !job.isClaimedElsewhere;
  }

  #onEnded(device: Device, command: PendingCommand, outcome: Outcome): void {
    const job = this.#jobs.get(command);
    clearInterval(job?.repeatTimer);
    endTerminalSpan(job?.span, outcome);
    this.#jobs.delete(command);
    if (command.serials.length > 0 && job?.isClaimedElsewhere !== true)
      this.#options.records
        .markEnded(device.imei, command.commandId, outcome)
        .catch((error: unknown) => this.#onRedisFailure('endCommand', error));
    const next = device.pending.findNext(command);
    if (next !== undefined) this.#sendInBackground(device, next);
    this.#options.devices.deleteIfIdle(device);
  }

  #onRedisFailure(operation: string, error: unknown): void {
    this.#options.metrics.redisFailures.inc({ operation });
    this.#options.log.debug({ err: error, operation }, 'Redis operation failed');
  }
}
