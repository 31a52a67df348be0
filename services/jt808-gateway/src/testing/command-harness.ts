import { afterAll, afterEach, beforeAll, jest } from '@jest/globals';
import type { Gateway } from '../service.ts';
import { Caller, startGateway } from './harness.ts';
import { RawTerminal, type ReceivedFrame } from './raw-terminal.ts';

/** A gateway, a caller of commands, and the terminals of a test. */
class CommandHarness {
  readonly caller: Caller;
  readonly #gateway: Gateway;
  readonly #terminals: RawTerminal[] = [];

  private constructor(gateway: Gateway, caller: Caller) {
    this.#gateway = gateway;
    this.caller = caller;
  }

  static async open(): Promise<CommandHarness> {
    const gateway = await startGateway({ COMMANDS_PER_TERMINAL: '4', WAKE_UP_INTERVAL_MS: '100' });
    return new CommandHarness(gateway, await Caller.open());
  }

  async login(phone: string, edition: '2011' | '2013' | '2019' = '2013'): Promise<RawTerminal> {
    const terminal = await RawTerminal.login(this.#gateway.jt808Port, phone, edition);
    this.#terminals.push(terminal);
    return terminal;
  }

  closeTerminals(): void {
    for (const terminal of this.#terminals.splice(0)) terminal.close();
  }

  async close(): Promise<void> {
    await this.caller.close();
    await this.#gateway.stop();
  }
}

/**
 * Opens a harness before the tests of a file, closes its terminals after each test, and closes it after the last one.
 * Its members exist only within tests.
 */
export function setUpCommandHarness() {
  // Tests wait for conditions, which takes longer on a busy machine.
  jest.setTimeout(60_000);
  let harness: CommandHarness;
  beforeAll(async () => {
    harness = await CommandHarness.open();
  });
  afterEach(() => harness.closeTerminals());
  afterAll(() => harness.close());
  return {
    login: (...args: Parameters<CommandHarness['login']>) => harness.login(...args),
    get caller(): Caller {
      return harness.caller;
    },
  };
}

/** Returns the command frames received by a terminal, in order of arrival. */
export const listCommands = (terminal: RawTerminal): ReceivedFrame[] =>
  terminal.received.filter((frame) => frame.messageId >= 0x8103 && frame.messageId !== 0x8800);
