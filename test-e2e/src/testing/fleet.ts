import type { PlatformMessage, SimulatedTerminal } from '@fleet/terminal-simulator';
import type { ProductHarness, TerminalSetup } from './harness.ts';
import { createGeneralResponse } from './responses.ts';
import { formatReportName, readStoredReports } from './stored-reports.ts';
import { waitFor } from './wait-for.ts';

/** When a terminal answers a command: at once, when the test says so, when its connection stands again, or never. */
export type ResponseTiming = 'now' | 'onRelease' | 'nextSession' | 'never';

/** One command to one terminal and how it ended. Its number within the terminal travels as the channel, so that its frames can be told apart. */
export interface CommandCall {
  readonly phone: string;
  readonly no: number;
  /** 0: the connection ended without an answer. */
  readonly status: number;
  readonly body: unknown;
  /** Frames of this command that reached the terminal. */
  frames(): number;
}

const pauseCommand = 0x9102;

/** Terminals that report fast and answer commands when the test wants them to. */
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

  /** Says when commands with these numbers are answered; without that it is at once. */
  setResponseTiming(timing: ResponseTiming, ...numbers: number[]): void {
    for (const no of numbers) this.#timings.set(no, timing);
  }

  /** Sends the answers that wait for it, of all numbers or of some. */
  release(...numbers: number[]): void {
    this.#release(({ message }) => numbers.length === 0 || numbers.includes(message.body[0] ?? 0), 'onRelease');
  }

  /** One command of each number to each terminal, all at once. */
  sendCommands(...numbers: number[]): Promise<CommandCall>[] {
    return this.terminals.flatMap((terminal) => numbers.map((no) => this.sendCommand(terminal, no)));
  }

  async sendCommand(terminal: SimulatedTerminal, no: number): Promise<CommandCall> {
    const path = `/realtime/control-stream?imei=${terminal.phone}&channel=${no}&ctrl_instruction=2`;
    const response = await this.#harness.get(path).catch((error: unknown) => ({ status: 0, body: String(error) }));
    const frames = (): number => this.countFrames(terminal, no);
    return { phone: terminal.phone, no, status: response.status, body: response.body, frames };
  }

  /** Frames of a command that reached a terminal. */
  countFrames(terminal: SimulatedTerminal, no: number): number {
    return terminal.receivedFrames(pauseCommand).filter((frame) => frame.body[0] === no).length;
  }

  /** Waits until the commands of these numbers have reached every terminal. */
  async waitUntilReceived(...numbers: number[]): Promise<void> {
    const hasAll = (terminal: SimulatedTerminal): boolean => numbers.every((no) => this.countFrames(terminal, no) > 0);
    await waitFor(`commands ${numbers.join(', ')} at every terminal`, () => this.terminals.every(hasAll), 60_000);
  }

  /** Waits until every terminal is connected as the terminal sees it, and as the platform says. */
  async waitUntilOnline(): Promise<void> {
    await waitFor(
      'every terminal to be online again',
      async () => {
        if (!this.terminals.every((terminal) => terminal.isOnline)) return false;
        const healthResponses = this.terminals.map(({ phone }) => this.#harness.get(`/health/device?imei=${phone}`));
        return (await Promise.all(healthResponses)).every(({ status }) => status === 200);
      },
      60_000,
    );
  }

  /** Waits until every report that was made before this call is acknowledged. */
  async waitUntilAcknowledged(): Promise<void> {
    const pendingReports = this.terminals.flatMap(({ reports }) => reports.slice());
    await waitFor(
      'every report to be acknowledged',
      () => pendingReports.every((one) => one.acknowledgedAtMs !== null),
      60_000,
    );
  }

  /** Acknowledged reports that JetStream does not hold, and the number of those that it does. */
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

/** Statuses of calls and how often each came, such as `{ 200: 38, 504: 2 }`. */
export function countStatuses(calls: readonly CommandCall[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of calls) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** What is wrong with the ends of calls: a status that is not among `allowed`, a body that is no ApiError, frames that do not fit. One line each. */
export function findFaults(calls: readonly CommandCall[], allowed: readonly number[]): string[] {
  return calls.flatMap((call) => {
    const { phone, no, status, body } = call;
    const frames = call.frames();
    const line = (what: string): string[] => [`${phone} command ${no}: ${status} ${JSON.stringify(body)}, ${what}`];
    if (!allowed.includes(status)) return line('not a status that may come');
    if (status !== 200 && !isApiError(body, status)) return line('not an ApiError');
    if (frames > 1) return line(`${frames} frames`);
    if (status === 200 && frames === 0) return line('answered without a frame');
    if ((status === 404 || status === 503) && frames > 0) return line('a frame was written');
    return [];
  });
}

/** True for a body of exactly the two fields of the interface's ApiError. */
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
