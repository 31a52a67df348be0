import type { Edition, TerminalAddress } from '@fleet/jt808';
import type { Connection } from '../net/connection.ts';
import { PendingCommands } from './pending-commands.ts';
import { SerialCounter } from './serial-counter.ts';

/** Authenticated session of a terminal on a connection. */
export interface Session {
  readonly id: string;
  readonly device: Device;
  readonly connection: Connection;
  readonly onlineSinceMs: number;
  /** Generation of the claim in Redis; 0 until Redis has stored the session. */
  generation: number;
  /** Destination of responses: the terminal's own digits and header form. */
  address: TerminalAddress;
  /** Digits as the terminal sends them. */
  phone: string;
  edition: Edition;
  /** Id of the picture that is being received; null until part 1 has arrived. */
  multimediaId: number | null;
  /** Last-seen time stored in Redis. */
  savedLastSeenMs: number;
  /** Serial stored in Redis. */
  savedSerial: number;
  /** True once the session rejects commands because it is about to close. */
  isLeaving: boolean;
}

/** Split message retained because the terminal may request parts again (0x0005). */
interface SplitMessage {
  readonly firstSerial: number;
  readonly frames: readonly Buffer[];
}

const maxSplitMessages = 4;

/**
 * Holds the state of a terminal from its first session until nothing is pending. Commands outlive the connection that
 * carried them.
 */
export class Device {
  /** Canonical number. */
  readonly imei: string;
  readonly partition: number;
  readonly serials: SerialCounter;
  readonly pending: PendingCommands;
  session: Session | null = null;
  #splitMessages: SplitMessage[] | undefined;

  constructor(imei: string, partition: number, firstSerial: number) {
    this.imei = imei;
    this.partition = partition;
    this.serials = new SerialCounter(firstSerial);
    this.pending = new PendingCommands(this.serials);
  }

  retainSplitMessage(message: SplitMessage): void {
    this.#splitMessages ??= [];
    this.#splitMessages.push(message);
    if (this.#splitMessages.length > maxSplitMessages) this.#splitMessages.shift();
  }

  findSplitMessage(firstSerial: number): SplitMessage | undefined {
    return this.#splitMessages?.find((message) => message.firstSerial === firstSerial);
  }
}

/** Holds the terminals of this pod, by canonical number. */
export class Devices {
  readonly #devices = new Map<string, Device>();

  get size(): number {
    return this.#devices.size;
  }

  get(imei: string): Device | undefined {
    return this.#devices.get(imei);
  }

  add(device: Device): void {
    this.#devices.set(device.imei, device);
  }

  /** Deletes a terminal that has neither a session nor pending commands. */
  deleteIfIdle(device: Device): void {
    if (device.session === null && device.pending.size === 0 && this.#devices.get(device.imei) === device)
      this.#devices.delete(device.imei);
  }

  /** Returns the active sessions. */
  sessions(): Session[] {
    const sessions: Session[] = [];
    for (const { session } of this.#devices.values()) if (session !== null) sessions.push(session);
    return sessions;
  }
}
