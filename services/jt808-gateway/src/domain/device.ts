import type { Edition, TerminalAddress } from '@fleet/jt808';
import type { Connection } from '../net/connection.ts';
import { PendingCommands } from './pending-commands.ts';
import { SerialCounter } from './serial-counter.ts';

/** A terminal that is authenticated on a connection. */
export interface Session {
  readonly id: string;
  readonly device: Device;
  readonly connection: Connection;
  readonly onlineSinceMs: number;
  /** Generation of the claim in Redis; 0 while Redis has not heard of the session. */
  generation: number;
  /** Where answers go: the terminal's own digits and header form. */
  address: TerminalAddress;
  /** Digits as the terminal sends them. */
  phone: string;
  edition: Edition;
  /** Id of the picture whose parts are coming in; null when part 1 has not come. */
  multimediaId: number | null;
  /** Last-seen time that Redis knows. */
  savedLastSeenMs: number;
  /** Serial that Redis knows. */
  savedSerial: number;
  /** True once the session takes no more commands because it is about to be closed. */
  isLeaving: boolean;
}

/** A message that was split for a terminal, kept because it may ask for parts again (0x0005). */
export interface SplitMessage {
  readonly firstSerial: number;
  readonly frames: readonly Buffer[];
}

const maxSplitMessages = 4;

/** What is kept of a terminal from its first session until nothing is pending: commands outlive the connection they were sent on. */
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

/** The terminals of this pod, by canonical number. */
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

  /** Forgets a terminal that has neither a session nor anything pending. */
  deleteIfIdle(device: Device): void {
    if (device.session === null && device.pending.size === 0 && this.#devices.get(device.imei) === device)
      this.#devices.delete(device.imei);
  }

  /** The sessions that stand now. */
  sessions(): Session[] {
    const sessions: Session[] = [];
    for (const { session } of this.#devices.values()) if (session !== null) sessions.push(session);
    return sessions;
  }
}
