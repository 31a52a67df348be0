import { resolve } from 'node:path';
import { type RunningProduct, startProduct } from '@fleet/local/product';
import { type ClipSpec, cameraClips, SimulatedTerminal, type TerminalOptions } from '@fleet/terminal-simulator';

/** An answer of the product, read whole. */
export interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** Settings of a terminal that differ from those of a good one with one camera. */
export type TerminalSetup = Partial<TerminalOptions> & { look?: Partial<ClipSpec> };

/** A running product with terminals of the test: everything goes through its real ports. */
export interface World {
  readonly product: RunningProduct;
  /** GET below `/api/v1`. */
  get(path: string, init?: RequestInit): Promise<Answer>;
  /** Starts a terminal and waits until it takes commands. */
  terminal(setup?: TerminalSetup): Promise<SimulatedTerminal>;
  stop(): Promise<void>;
}

/** Clips are made once and kept between runs, in an ignored folder. */
export const clipCache = resolve('.cache/clips');

/** Limits that a test reaches only when it wants to. */
const raisedLimits = {
  RATE_LIMIT_READS_PER_SECOND: '100000',
  RATE_LIMIT_READS_BURST: '100000',
  RATE_LIMIT_COMMANDS_PER_MINUTE: '100000',
  RATE_LIMIT_COMMANDS_BURST: '100000',
  RATE_LIMIT_STREAM_OPENS_PER_MINUTE: '100000',
  RATE_LIMIT_HEALTH_PER_SECOND: '100000',
  RATE_LIMIT_HEALTH_BURST: '100000',
};

let numbers = 0;

/** A terminal number that no other terminal of this run has. */
export function newPhone(digits: 12 | 20 = 12): string {
  numbers += 1;
  return `139${String(process.pid % 10_000).padStart(4, '0')}${String(numbers).padStart(5, '0')}`.padStart(digits, '0');
}

/** Starts a product of its own on free ports, without the simulated fleet. */
export async function startWorld(env: Record<string, string> = {}): Promise<World> {
  const product = await startProduct({ env: { LOG_LEVEL: 'info', ...raisedLimits, ...env } });
  const terminals: SimulatedTerminal[] = [];
  return {
    product,
    get: (path, init) => getJson(`${product.runtime.base_url}/api/v1${path}`, init),
    terminal: async ({ look, ...setup } = {}) => {
      const phone = setup.phone ?? newPhone();
      const { host, port } = product.runtime.jt808;
      const clips = cameraClips(phone, { cacheDir: clipCache }, { main: { stamp: '', ...look } });
      const terminal = new SimulatedTerminal({ host, port, phone, channels: 2, reportIntervalMs: 0, clips, ...setup });
      terminals.push(terminal);
      terminal.start();
      // Many start at once on machines that are busy.
      await terminal.waitUntilOnline(60_000);
      return terminal;
    },
    stop: async () => {
      await Promise.all(terminals.map((terminal) => terminal.stop()));
      await product.stop();
    },
  };
}

/** Requests a URL and reads the JSON answer. */
export async function getJson(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}
