import type { Frame } from './frame.ts';

/** Limits and timing of a reassembler. */
export interface ReassemblerOptions {
  /** Monotonic clock in milliseconds. */
  now: () => number;
  /** Silence after which missing parts are requested; also the time between two requests. */
  requestAfterMs?: number;
  /** Silence after which a transfer expires. */
  timeoutMs?: number;
  /** Limits of one terminal: bytes, and transfers open at a time. */
  maxBytesPerTerminal?: number;
  maxTransfersPerTerminal?: number;
  /** Limit of the bytes of all terminals. */
  maxBytes?: number;
}

/** Joined message. The serials are those of part 1 and of the part that completed it. */
export interface ReassembledMessage {
  messageId: number;
  body: Buffer;
  total: number;
  firstSerial: number;
  lastSerial: number;
}

/** Outcome of a part. Acknowledge every part except a refused one, duplicates included. */
export type PartOutcome =
  | { kind: 'stored' }
  | { kind: 'duplicate' }
  | { kind: 'complete'; message: ReassembledMessage }
  | { kind: 'refused'; reason: 'notAPart' | 'tooLarge' };

/**
 * Event due by the clock: parts to request (the body of 0x8003, or of 0x0005 on a terminal's side), or an expired
 * transfer.
 */
export type TransferEvent =
  | { kind: 'missing'; terminal: string; messageId: number; originalSerial: number; packageIds: number[] }
  | { kind: 'expired'; terminal: string; messageId: number; total: number; received: number };

interface Part {
  serial: number;
  bytes: Buffer;
}

interface Transfer {
  terminal: string;
  messageId: number;
  total: number;
  parts: Map<number, Part>;
  bytes: number;
  lastPartMs: number;
  lastRequestMs: number;
}

interface TerminalState {
  transfers: Map<number, Transfer>;
  /** Transfers just completed, so that their late duplicates do not start a new transfer. */
  completed: Map<number, { fingerprints: Float64Array; completedAtMs: number }>;
  bytes: number;
}

/** Cost of one part beside its bytes, so that a flood of empty parts is bounded too. */
const partOverheadBytes = 64;
/** Longer transfers store no fingerprints of late duplicates. */
const maxFingerprints = 1024;
/** Parts of one request: the list of 0x8800 ends at 125, that of 0x8003 at one count byte. */
const maxRequestedParts = 125;

/**
 * Joins subpackaged messages by terminal, message id, total and part number. It never uses serial arithmetic, since
 * other messages may take serials in between. Memory follows the received bytes, never the total in a header; each
 * terminal and the whole are bounded.
 */
export class Reassembler {
  readonly #now: () => number;
  readonly #requestAfterMs: number;
  readonly #timeoutMs: number;
  readonly #maxBytesPerTerminal: number;
  readonly #maxTransfersPerTerminal: number;
  readonly #maxBytes: number;
  readonly #terminals = new Map<string, TerminalState>();
  #bytes = 0;

  constructor(options: ReassemblerOptions) {
    this.#now = options.now;
    this.#requestAfterMs = options.requestAfterMs ?? 5_000;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#maxBytesPerTerminal = options.maxBytesPerTerminal ?? 8 * 1024 * 1024;
    this.#maxTransfersPerTerminal = options.maxTransfersPerTerminal ?? 8;
    this.#maxBytes = options.maxBytes ?? 128 * 1024 * 1024;
  }

  /** Buffered bytes, overhead included. */
  get bufferedBytes(): number {
    return this.#bytes;
  }

  /** Transfers in progress. */
  get openTransfers(): number {
    let count = 0;
    for (const terminal of this.#terminals.values()) count += terminal.transfers.size;
    return count;
  }

  /** Adds one part. The key is the terminal's canonical number, or anything that identifies the session. */
  push(terminalKey: string, frame: Frame): PartOutcome {
    const { subpackage } = frame;
    if (subpackage === null) return { kind: 'refused', reason: 'notAPart' };
    const { total, no } = subpackage;
    const terminal = this.#getOrCreateTerminal(terminalKey);
    const id = frame.messageId * 0x1_0000 + total;
    const { serial, body } = frame;
    const completed = terminal.transfers.has(id) ? undefined : terminal.completed.get(id);
    if (completed !== undefined && completed.fingerprints[no - 1] === partFingerprint(serial, body))
      return { kind: 'duplicate' };
    let transfer = terminal.transfers.get(id);
    const existing = transfer?.parts.get(no);
    if (transfer !== undefined && existing !== undefined) {
      const isSameContent = existing.bytes.equals(body);
      if (isSameContent && (no !== 1 || existing.serial === serial)) return this.#handleDuplicate(transfer);
      // Part 1 again, or other content under a stored part number: the terminal has started over.
      this.#drop(terminal, id, transfer);
      transfer = undefined;
    }
    if (!this.#freeMemory(terminal, body.length + partOverheadBytes, transfer)) {
      if (transfer !== undefined) this.#drop(terminal, id, transfer);
      this.#deleteIfIdle(terminalKey, terminal);
      return { kind: 'refused', reason: 'tooLarge' };
    }
    transfer ??= this.#startTransfer(terminal, id, terminalKey, frame.messageId, total);
    return this.#store(terminal, id, transfer, no, { serial, bytes: Buffer.from(body) });
  }

  /**
   * Removes the record of a joined message that could not be stored. Parts that are sent again then start a new
   * transfer and are not late duplicates.
   */
  allowRetransmission(
    terminalKey: string,
    { messageId, total }: Pick<ReassembledMessage, 'messageId' | 'total'>,
  ): void {
    const terminal = this.#terminals.get(terminalKey);
    if (terminal === undefined) return;
    terminal.completed.delete(messageId * 0x1_0000 + total);
    this.#deleteIfIdle(terminalKey, terminal);
  }

  /** Returns the due events: requests for missing parts and expired transfers. Call it about once a second. */
  poll(): TransferEvent[] {
    const now = this.#now();
    const events: TransferEvent[] = [];
    for (const [key, terminal] of this.#terminals) {
      for (const [id, transfer] of terminal.transfers) {
        if (now - transfer.lastPartMs >= this.#timeoutMs) {
          this.#drop(terminal, id, transfer);
          const { messageId, total } = transfer;
          events.push({ kind: 'expired', terminal: key, messageId, total, received: transfer.parts.size });
        } else if (now - Math.max(transfer.lastPartMs, transfer.lastRequestMs) >= this.#requestAfterMs) {
          transfer.lastRequestMs = now;
          events.push(missingPartsEvent(transfer));
        }
      }
      for (const [id, completed] of terminal.completed)
        if (now - completed.completedAtMs >= this.#timeoutMs) terminal.completed.delete(id);
      this.#deleteIfIdle(key, terminal);
    }
    return events;
  }

  /** Drops all data of a terminal whose session has ended. */
  deleteTerminal(terminalKey: string): void {
    const terminal = this.#terminals.get(terminalKey);
    if (terminal === undefined) return;
    this.#bytes -= terminal.bytes;
    this.#terminals.delete(terminalKey);
  }

  #getOrCreateTerminal(key: string): TerminalState {
    let terminal = this.#terminals.get(key);
    if (terminal === undefined) {
      terminal = { transfers: new Map(), completed: new Map(), bytes: 0 };
      this.#terminals.set(key, terminal);
    }
    return terminal;
  }

  #deleteIfIdle(key: string, terminal: TerminalState): void {
    if (terminal.transfers.size === 0 && terminal.completed.size === 0) this.#terminals.delete(key);
  }

  #handleDuplicate(transfer: Transfer): PartOutcome {
    transfer.lastPartMs = this.#now();
    return { kind: 'duplicate' };
  }

  #startTransfer(terminal: TerminalState, id: number, key: string, messageId: number, total: number): Transfer {
    if (terminal.transfers.size >= this.#maxTransfersPerTerminal) this.#dropStalest(terminal, undefined);
    const now = this.#now();
    const transfer = {
      terminal: key,
      messageId,
      total,
      parts: new Map<number, Part>(),
      bytes: 0,
      lastPartMs: now,
      lastRequestMs: Number.NEGATIVE_INFINITY,
    };
    terminal.transfers.set(id, transfer);
    terminal.completed.delete(id);
    return transfer;
  }

  #store(terminal: TerminalState, id: number, transfer: Transfer, no: number, part: Part): PartOutcome {
    const cost = part.bytes.length + partOverheadBytes;
    transfer.parts.set(no, part);
    transfer.bytes += cost;
    terminal.bytes += cost;
    this.#bytes += cost;
    transfer.lastPartMs = this.#now();
    if (transfer.parts.size < transfer.total) return { kind: 'stored' };
    this.#drop(terminal, id, transfer);
    this.#recordCompleted(terminal, id, transfer);
    return { kind: 'complete', message: reassemble(transfer, part.serial) };
  }

  #recordCompleted(terminal: TerminalState, id: number, transfer: Transfer): void {
    if (transfer.total > maxFingerprints) return;
    const [oldest] = terminal.completed.keys();
    if (oldest !== undefined && terminal.completed.size >= this.#maxTransfersPerTerminal)
      terminal.completed.delete(oldest);
    const fingerprints = new Float64Array(transfer.total);
    for (const [no, part] of transfer.parts) fingerprints[no - 1] = partFingerprint(part.serial, part.bytes);
    terminal.completed.set(id, { fingerprints, completedAtMs: this.#now() });
  }

  /**
   * Frees memory for `cost` more bytes by dropping old transfers of the same terminal; returns false if that is not
   * enough.
   */
  #freeMemory(terminal: TerminalState, cost: number, current: Transfer | undefined): boolean {
    while (terminal.bytes + cost > this.#maxBytesPerTerminal) {
      if (!this.#dropStalest(terminal, current)) return false;
    }
    return this.#bytes + cost <= this.#maxBytes;
  }

  #dropStalest(terminal: TerminalState, except: Transfer | undefined): boolean {
    let stalest: [number, Transfer] | undefined;
    for (const entry of terminal.transfers) {
      if (entry[1] === except) continue;
      if (stalest === undefined || entry[1].lastPartMs < stalest[1].lastPartMs) stalest = entry;
    }
    if (stalest === undefined) return false;
    this.#drop(terminal, stalest[0], stalest[1]);
    return true;
  }

  #drop(terminal: TerminalState, id: number, transfer: Transfer): void {
    terminal.transfers.delete(id);
    terminal.bytes -= transfer.bytes;
    this.#bytes -= transfer.bytes;
  }
}

/**
 * Combines serial and content in one number. The serial alone is not sufficient, as some terminals always send the same
 * one.
 */
function partFingerprint(serial: number, bytes: Buffer): number {
  const { imul } = Math;
  let hash = 0x811c9dc5; // FNV-1a
  for (let i = 0; i < bytes.length; i += 1) hash = imul(hash ^ (bytes[i] as number), 0x01000193);
  return serial * 0x1_0000_0000 + (hash >>> 0);
}

function reassemble(transfer: Transfer, lastSerial: number): ReassembledMessage {
  const bodies: Buffer[] = [];
  for (let no = 1; no <= transfer.total; no += 1) bodies.push((transfer.parts.get(no) as Part).bytes);
  const { messageId, total } = transfer;
  const firstSerial = (transfer.parts.get(1) as Part).serial;
  return { messageId, total, body: Buffer.concat(bodies), firstSerial, lastSerial };
}

function missingPartsEvent(transfer: Transfer): TransferEvent {
  const packageIds: number[] = [];
  for (let no = 1; no <= transfer.total && packageIds.length < maxRequestedParts; no += 1) {
    if (!transfer.parts.has(no)) packageIds.push(no);
  }
  const { terminal, messageId } = transfer;
  return { kind: 'missing', terminal, messageId, originalSerial: originalSerial(transfer), packageIds };
}

/**
 * Returns the serial of part 1. While that part is missing, the best estimate is the serial of the lowest part k minus
 * (k - 1).
 */
function originalSerial(transfer: Transfer): number {
  let lowest = Number.POSITIVE_INFINITY;
  for (const no of transfer.parts.keys()) lowest = Math.min(lowest, no);
  return ((transfer.parts.get(lowest) as Part).serial - (lowest - 1)) & 0xffff;
}
