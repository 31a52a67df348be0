import type { PlatformMessage, SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import type { ProductHarness, TerminalSetup } from './harness.ts';
import { createGeneralResponse } from './responses.ts';
import { formatReportName, readStoredReports } from './stored-reports.ts';

/** When a terminal replies to a command: immediately, on release, after its next login, or never. */
type ResponseTiming = 'now' | 'onRelease' | 'nextSession' | 'never';

/**
 * One command to one terminal and its result. The number within the terminal travels as the channel, so that its frames
 * can be identified.
 */
export interface CommandCall {
  readonly phone: string;
  readonly no: number;
  /** 0: the connection ended without a response. */
  readonly status: number;
  readonly body: unknown;
  /** Returns the frames of this command that reached the terminal. */
  frames(): number;
}

const pauseCommand = 0x9102;

/** Terminals that report frequently and reply to commands when the test requests it. */
export class Fleet {
  readonly terminals: SimulatedTerminal[] = [];
  readonly #harness: ProductHarness;
  readonly #timings = new Map<number, ResponseTiming>();
  #held: { terminal: SimulatedTerminal; message: PlatformMessage }[] = [];

  private constructor(harness: ProductHarness) {
    this.#harness = harness;
  }

  static async start(harness: ProductHarness, count: number, setup: TerminalSetup = {}): Promise<Fleet> {
    const fleet = new Fleet(harness);
    await Promise.all(
      Array.from({ length: count }, async () => {
        const terminal = await harness.startTerminal({
          reportIntervalMs: 200,
          replyTimeoutMs: 10_000,
          reconnect: { minMs: 200, maxMs: 1_000 },
          logLimit: 20_000,
          ...setup,
          respond: (message) => fleet.#respond(message, terminal),
        });
        terminal.on('online', () => fleet.#release((held) => held.terminal === terminal, 'nextSession'));
        fleet.terminals.push(terminal);
      }),
    );
    return fleet;
  }

  /** Sets when commands with these numbers are replied to; the default is immediately. */
  setResponseTiming(timing: ResponseTiming, ...numbers: number[]): void {
    for (const no of numbers) this.#timings.set(no, timing);
  }

  /** Sends the held replies, of all numbers or of the given ones. */
  release(...numbers: number[]): void {
    this.#release(({ message }) => numbers.length === 0 || numbers.includes(message.body[0] ?? 0), 'onRelease');
  }

  /** Sends one command of each number to each terminal, all concurrently. */
  sendCommands(...numbers: number[]): Promise<CommandCall>[] {
    return this.terminals.flatMap((terminal) => numbers.map((no) => this.sendCommand(terminal, no)));
  }

  async sendCommand(terminal: SimulatedTerminal, no: number): Promise<CommandCall> {
    const path = `/realtime/control-stream?imei=${terminal.phone}&channel=${no}&ctrl_instruction=2`;
    const response = await this.#harness.get(path).catch((error: unknown) => ({ status: 0, body: String(error) }));
    const frames = (): number => this.countFrames(terminal, no);
    return { phone: terminal.phone, no, status: response.status, body: response.body, frames };
  }

  /** Counts the frames of a command that reached a terminal. */
  countFrames(terminal: SimulatedTerminal, no: number): number {
    return terminal.receivedFrames(pauseCommand).filter((frame) => frame.body[0] === no).length;
  }

  /** Waits until the commands of these numbers have reached every terminal. */
  async waitUntilReceived(...numbers: number[]): Promise<void> {
    const hasAll = (terminal: SimulatedTerminal): boolean => numbers.every((no) => this.countFrames(terminal, no) > 0);
    await waitFor(() => this.terminals.every(hasAll), `commands ${numbers.join(', ')} at every terminal`, 60_000);
  }

  /** Waits until every terminal is connected, both in the terminal's view and in the platform's. */
  async waitUntilOnline(): Promise<void> {
    await waitFor(
      async () => {
        if (!this.terminals.every((terminal) => terminal.isOnline)) return false;
        const healthResponses = this.terminals.map(({ phone }) => this.#harness.get(`/health/device?imei=${phone}`));
        return (await Promise.all(healthResponses)).every(({ status }) => status === 200);
      },
      'every terminal to be online again',
      60_000,
    );
  }

  /** Waits until every report that was created before this call is acknowledged. */
  async waitUntilAcknowledged(): Promise<void> {
    const pendingReports = this.terminals.flatMap(({ reports }) => reports.slice());
    await waitFor(
      () => pendingReports.every((one) => one.acknowledgedAtMs !== null),
      'every report to be acknowledged',
      60_000,
    );
  }

  /** Returns the acknowledged reports that JetStream does not hold, and the number of those that it does. */
  async compareWithJetStream(): Promise<{ lost: string[]; storedCount: number }> {
    const acknowledged = this.terminals.flatMap(({ phone, acknowledgedReports }) =>
      acknowledgedReports.map(({ sha256 }) => formatReportName(phone, sha256)),
    );
    const stored = await readStoredReports(this.#harness);
    const lost = acknowledged.filter((name) => !stored.has(name));
    return { lost, storedCount: acknowledged.length - lost.length };
  }

  #respond(message: PlatformMessage, terminal: SimulatedTerminal): { messageId: number; body: Buffer }[] | undefined {
    if (message.messageId !== pauseCommand) return undefined;
    const timing = this.#timings.get(message.body[0] ?? 0) ?? 'now';
    if (timing === 'now') return [createGeneralResponse(message)];
    if (timing !== 'never') this.#held.push({ terminal, message });
    return [];
  }

  #release(
    isSelected: (held: { terminal: SimulatedTerminal; message: PlatformMessage }) => boolean,
    timing: ResponseTiming,
  ): void {
    const isDue = (held: { terminal: SimulatedTerminal; message: PlatformMessage }): boolean =>
      this.#timings.get(held.message.body[0] ?? 0) === timing && isSelected(held);
    const due = this.#held.filter(isDue);
    this.#held = this.#held.filter((held) => !isDue(held));
    for (const { terminal, message } of due) terminal.send(createGeneralResponse(message));
  }
}

/** Counts the calls by status, such as `{ 200: 38, 504: 2 }`. */
export function countStatuses(calls: readonly CommandCall[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of calls) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/**
 * Returns what is wrong with the results of calls, one line each: a status that is not in `allowed`, a body that is not
 * an ApiError, or an unexpected number of frames.
 */
export function findFaults(calls: readonly CommandCall[], allowed: readonly number[]): string[] {
  return calls.flatMap((call) => {
    const { phone, no, status, body } = call;
    const frames = call.frames();
    const line = (what: string): string[] => [`${phone} command ${no}: ${status} ${JSON.stringify(body)}, ${what}`];
    if (!allowed.includes(status)) return line('not an allowed status');
    if (status !== 200 && !isApiError(body, status)) return line('not an ApiError');
    if (frames > 1) return line(`${frames} frames`);
    if (status === 200 && frames === 0) return line('response without a frame');
    if ((status === 404 || status === 503) && frames > 0) return line('a frame was sent');
    return [];
  });
}

/** Returns true for a body of exactly the two fields of the interface's ApiError. */
export function isApiError(body: unknown, status: number): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const fields = Object.entries(body).toSorted(([a], [b]) => a.localeCompare(b));
  const [error, statusField] = fields;
  return (
    fields.length === 2 &&
    error?.[0] === 'error' &&
    typeof error[1] === 'string' &&
    statusField?.[0] === 'status' &&
    statusField[1] === status
  );
}
