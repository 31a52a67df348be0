import { randomBytes } from 'node:crypto';
import { headers, type Msg, type Subscription } from 'nats';
import { type Bus, endSubscription } from './connection.ts';
import { decodeJson, encodeJson, headerNames, parseNumberHeader, respondSafely } from './contract.ts';
import { checkDeviceCommand, type DeviceCommand, deviceCommandSubject, type Outcome } from './device-command.ts';
import { traceProcessing } from './trace-messages.ts';

/** How long a reply is cached for retries: longer than any caller waits. */
const responseCacheTtlMs = 120_000;
/**
 * A pod that has held a terminal for this much longer than a command exists received every delivered request of that
 * command.
 */
const deliveryMarginMs = 1_000;

/** A command as a gateway receives it. */
export interface IncomingCommand {
  readonly imei: string;
  readonly command: DeviceCommand;
  readonly commandId: string;
  readonly correlationId: string;
  readonly timeoutMs: number;
  /**
   * True if an earlier request of this command may have reached another gateway: this gateway must write no frame. A
   * request lost with the broker does not count while this pod held the terminal throughout.
   */
  readonly isRetry: boolean;
}

interface CommandEntry {
  readonly waitingMessages: Msg[];
  response: Uint8Array | undefined;
  expiresAtMs: number;
}

/**
 * Receives commands for the terminals whose sessions this pod holds. Joins retries (equal imei and Command-Id) and
 * caches recent replies, so that the handler runs once for each command.
 */
export class DeviceCommandServer {
  readonly #bus: Bus;
  readonly #handler: (command: IncomingCommand) => Promise<Outcome>;
  readonly #onError: (error: unknown, detail: string) => void;
  readonly #onTakenOver: (imei: string) => void;
  readonly #serverId = randomBytes(8).toString('hex');
  readonly #entries = new Map<string, CommandEntry>();
  readonly #subscriptions = new Map<string, { subscription: Subscription; sinceMs: number }>();
  readonly #sweepTimer: NodeJS.Timeout;

  constructor(
    bus: Bus,
    options: {
      handler: (command: IncomingCommand) => Promise<Outcome>;
      onError: (error: unknown, detail: string) => void;
      /** Another server has taken over a terminal by `takeOver`. */
      onTakenOver?: (imei: string) => void;
    },
  ) {
    this.#bus = bus;
    this.#handler = options.handler;
    this.#onError = options.onError;
    this.#onTakenOver = options.onTakenOver ?? (() => undefined);
    // Compiled before the first command: its time-out starts when this pod reads it.
    checkDeviceCommand.compile();
    this.#sweepTimer = setInterval(() => this.#evictExpired(), 10_000);
    this.#sweepTimer.unref();
  }

  /** Number of commands without a reply. */
  get inFlight(): number {
    let count = 0;
    for (const entry of this.#entries.values()) if (entry.response === undefined) count += 1;
    return count;
  }

  /**
   * Subscribes to the commands of a terminal until `close`. A terminal is subscribed once, whatever the number of
   * calls.
   */
  subscribe(imei: string): void {
    if (this.#subscriptions.has(imei)) return;
    const subscription = this.#bus.nc.subscribe(deviceCommandSubject(imei), {
      callback: (error, message) => {
        if (error) this.#onError(error, 'command subscription');
        else this.#onMessage(imei, message);
      },
    });
    this.#subscriptions.set(imei, { subscription, sinceMs: performance.now() });
  }

  /**
   * Notifies any other server of the terminal that it is taken over. Call it before `open` if the holder of the
   * terminal is unknown: the broker delivers it to the other server before any command that both would receive.
   */
  takeOver(imei: string): void {
    const messageHeaders = headers();
    messageHeaders.set(headerNames.takenBy, this.#serverId);
    if (this.#bus.isUp())
      this.#bus.nc.publish(deviceCommandSubject(imei), new Uint8Array(), { headers: messageHeaders });
  }

  /**
   * Unsubscribes from a terminal's commands. Pending commands and those already delivered still get a reply; the
   * handler reports the missing session.
   */
  unsubscribe(imei: string): void {
    void this.#endSubscription(imei);
  }

  /** Unsubscribes from all commands; resolves when the broker delivers no more. */
  async stop(): Promise<void> {
    clearInterval(this.#sweepTimer);
    await Promise.all([...this.#subscriptions.keys()].map((imei) => this.#endSubscription(imei)));
  }

  async #endSubscription(imei: string): Promise<void> {
    const current = this.#subscriptions.get(imei);
    this.#subscriptions.delete(imei);
    if (current !== undefined) await endSubscription(this.#bus, current.subscription);
  }

  /**
   * Returns true if this pod has held the terminal since before the command was first sent: it would have the command
   * in its cache.
   */
  #hasServedSince(imei: string, message: Msg): boolean {
    const current = this.#subscriptions.get(imei);
    const commandAgeMs = parseNumberHeader(message.headers, headerNames.commandAgeMs);
    if (current === undefined || commandAgeMs === undefined) return false;
    return performance.now() - current.sinceMs >= commandAgeMs + deliveryMarginMs;
  }

  #onMessage(imei: string, message: Msg): void {
    const takenBy = message.headers?.get(headerNames.takenBy) ?? '';
    if (takenBy !== '') {
      if (takenBy !== this.#serverId) this.#onTakenOver(imei);
      return;
    }
    const commandId = message.headers?.get(headerNames.commandId) ?? '';
    const timeoutMs = parseNumberHeader(message.headers, headerNames.timeoutMs);
    let command: unknown;
    try {
      command = decodeJson(message.data);
    } catch (error) {
      this.#onError(error, 'command payload');
    }
    if (!/^[0-9a-f]{32}$/.test(commandId) || timeoutMs === undefined || !checkDeviceCommand(command)) {
      const refusal: Outcome = { kind: 'refused', detail: 'The command is not valid.', isOurFault: true };
      this.#respond(message, encodeJson(refusal));
      return;
    }
    const key = `${imei}/${commandId}`;
    const existing = this.#entries.get(key);
    if (existing !== undefined) {
      if (existing.response === undefined) existing.waitingMessages.push(message);
      else this.#respond(message, existing.response);
      return;
    }
    const entry: CommandEntry = {
      waitingMessages: [message],
      response: undefined,
      expiresAtMs: performance.now() + timeoutMs + responseCacheTtlMs,
    };
    this.#entries.set(key, entry);
    const correlationId = message.headers?.get(headerNames.correlationId) ?? '';
    const isRetry = (message.headers?.has(headerNames.retry) ?? false) && !this.#hasServedSince(imei, message);
    const incoming = { imei, command: command as DeviceCommand, commandId, correlationId, timeoutMs, isRetry };
    void traceProcessing(message.subject, message.headers, () => this.#run(entry, incoming));
  }

  async #run(entry: CommandEntry, command: IncomingCommand): Promise<void> {
    try {
      this.#respondAll(entry, await this.#handler(command));
    } catch (error) {
      this.#onError(error, 'command handler');
      this.#respondAll(entry, { kind: 'refused', detail: 'The gateway failed.', isOurFault: true });
    }
  }

  #respond(message: Msg, response: Uint8Array): void {
    respondSafely(message, response, undefined, (error) => this.#onError(error, 'command reply'));
  }

  #respondAll(entry: CommandEntry, outcome: Outcome): void {
    const response = encodeJson(outcome);
    entry.response = response;
    entry.expiresAtMs = performance.now() + responseCacheTtlMs;
    for (const message of entry.waitingMessages.splice(0)) this.#respond(message, response);
  }

  #evictExpired(): void {
    const now = performance.now();
    // Also commands whose handler never replied: no caller waits for them any more.
    for (const [key, entry] of this.#entries) if (entry.expiresAtMs < now) this.#entries.delete(key);
  }
}
