import { resolve } from 'node:path';
import { type ProductView, type RunningProduct, startProduct, viewProduct } from '@fleet/local/product';
import { type ClipSpec, createCameraClips, SimulatedTerminal, type TerminalOptions } from '@fleet/terminal-simulator';

/** A complete response of the product. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  body: unknown;
}

/** Settings of a terminal that differ from those of a regular one with one camera. */
export type TerminalSetup = Partial<TerminalOptions> & { video?: Partial<ClipSpec> };

/** A running product with terminals of the test. All requests go through its real ports. */
export interface ProductHarness {
  readonly product: ProductView;
  /** Sends a GET request below `/api/v1`. */
  get(path: string, init?: RequestInit): Promise<ApiResponse>;
  /** Starts a terminal and waits until it accepts commands. */
  startTerminal(setup?: TerminalSetup): Promise<SimulatedTerminal>;
  stop(): Promise<void>;
}

/** A harness whose product no other test uses: its processes may be killed. */
export interface DedicatedHarness extends ProductHarness {
  readonly isDedicated: true;
}

/** A harness whose product was started by the test file. */
export interface StartedHarness extends DedicatedHarness {
  readonly product: RunningProduct;
}

/** Clips are generated once and stored between runs, in an ignored folder. */
const clipCacheDir = resolve('.cache/clips');

/** Limits that a test reaches only on purpose. */
const raisedLimits = {
  RATE_LIMIT_READS_PER_SECOND: '100000',
  RATE_LIMIT_READS_BURST: '100000',
  RATE_LIMIT_COMMANDS_PER_MINUTE: '100000',
  RATE_LIMIT_COMMANDS_BURST: '100000',
  RATE_LIMIT_STREAM_OPENS_PER_MINUTE: '100000',
  RATE_LIMIT_HEALTH_PER_SECOND: '100000',
  RATE_LIMIT_HEALTH_BURST: '100000',
};

/** A simulated camera on a busy machine connects late. The product cancels its request after 30 seconds. */
const raisedWaits = { FIRST_PACKET_WAIT_MS: '25000' };

/** Without a night, a moving terminal raises the same events at any time of the day. */
const withoutNight = { RULE_NIGHT_FROM_HOUR: '0', RULE_NIGHT_TO_HOUR: '0' };

/**
 * Settings of products from the pool: no limit affects a test file, and partner servers on this machine may be called.
 */
const poolSettings = {
  ...raisedLimits,
  ...raisedWaits,
  ...withoutNight,
  LOG_LEVEL: 'info',
  RATE_LIMIT_PLATFORM_PER_MINUTE: '100000',
  RATE_LIMIT_PLATFORM_BURST: '100000',
  RATE_LIMIT_DASHBOARD_PER_MINUTE: '100000',
  RATE_LIMIT_DASHBOARD_BURST: '100000',
  RATE_LIMIT_LOGIN_PER_MINUTE: '1000',
  RATE_LIMIT_CAPTURE_PER_MINUTE: '100000',
  PARTNER_COMMAND_ENABLED: 'true',
  PARTNER_COMMAND_ALLOW_HTTP: 'true',
  PARTNER_COMMAND_ALLOWED_CIDRS: '127.0.0.0/8',
  ATTACHMENT_RETRY_MINUTES: '1,1,1',
};

/** Timeouts of a product whose devices often do not reply: longer than a regular device takes on a busy machine. */
export const shortWaits = {
  deviceReplyTimeoutMs: 6_000,
  uploadControlTimeoutMs: 5_000,
  firstPacketWaitMs: 1_500,
} as const;

/** Returns the settings for `shortWaits`. */
export const shortWaitSettings = {
  DEVICE_REPLY_TIMEOUT_MS: String(shortWaits.deviceReplyTimeoutMs),
  UPLOAD_CONTROL_TIMEOUT_MS: String(shortWaits.uploadControlTimeoutMs),
  FIRST_PACKET_WAIT_MS: String(shortWaits.firstPacketWaitMs),
};

/** Number of this test file: files of one process share the process id. */
let fileNumber = process.pid % 10_000;
let lastPhoneNo = 0;

/** Returns a terminal number that no other terminal of this run has. */
export function uniquePhone(digits: 12 | 20 = 12): string {
  lastPhoneNo += 1;
  return `139${String(fileNumber).padStart(4, '0')}${String(lastPhoneNo).padStart(5, '0')}`.padStart(digits, '0');
}

/**
 * Starts a separate product on free ports, without the simulated fleet. For test files with unique settings or that
 * stop the product. A given data folder remains after the stop.
 */
export async function startHarness(env: Record<string, string> = {}, dataDir?: string): Promise<StartedHarness> {
  const settings = { LOG_LEVEL: 'info', ...raisedLimits, ...raisedWaits, ...withoutNight, ...env };
  const product = await startProduct({ env: settings, ...(dataDir === undefined ? {} : { dataDir }) });
  return { ...createHarness(product, () => product.stop()), isDedicated: true };
}

/**
 * Leases a product until `stop`. No other test uses it, so its processes may be killed. Records and non-zero counters
 * of earlier test files may remain. Without `npm test` it starts a product.
 */
export async function leaseHarness(overrides: Record<string, string> = {}): Promise<DedicatedHarness> {
  const settings = { ...poolSettings, ...overrides };
  const lease = await acquireLease(settings, false);
  if (lease === undefined) return startHarness(settings);
  return { ...createHarness(viewProduct(lease.dataDir), lease.release), isDedicated: true };
}

/**
 * Joins the product shared by all test files that neither kill a process nor need their own settings. Other files use
 * it concurrently: count and list only your own terminals and accounts. Without `npm test` it starts a product.
 */
export async function joinSharedHarness(): Promise<ProductHarness> {
  const lease = await acquireLease(poolSettings, true);
  return lease === undefined ? startHarness(poolSettings) : createHarness(viewProduct(lease.dataDir), lease.release);
}

interface Lease {
  readonly dataDir: string;
  readonly release: () => Promise<void>;
}

/** Acquires a product from the pool of `npm test`. Returns undefined without a pool. */
async function acquireLease(settings: Record<string, string>, isShared: boolean): Promise<Lease | undefined> {
  const url = process.env['PRODUCT_POOL_URL'];
  if (url === undefined) return undefined;
  const post = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`The product pool failed: ${await response.text()}`);
    return response.json();
  };
  const { id, dataDir, file } = (await post('/acquire', { settings, isShared })) as {
    id: number;
    dataDir: string;
    file: number;
  };
  fileNumber = file;
  return { dataDir, release: async () => void (await post('/release', { id })) };
}

/** Creates the harness of a product; `release` is called when its terminals have stopped. */
function createHarness<Product extends ProductView>(
  product: Product,
  release: () => Promise<void>,
): ProductHarness & { readonly product: Product } {
  const terminals: SimulatedTerminal[] = [];
  return {
    product,
    get: (path, init) => getJson(`${product.runtime.base_url}/api/v1${path}`, init),
    startTerminal: async ({ video, ...setup } = {}) => {
      const phone = setup.phone ?? uniquePhone();
      const { host, port } = product.runtime.jt808;
      const clips = createCameraClips(phone, { cacheDir: clipCacheDir }, { main: { stamp: '', ...video } });
      // A camera encodes before it is asked; the first encoding on a machine takes longer than the product waits.
      if (setup.clips === undefined) await Promise.all([clips(1, 'main'), clips(1, 'sub')]);
      const terminal = new SimulatedTerminal({ host, port, phone, channels: 2, reportIntervalMs: 0, clips, ...setup });
      terminals.push(terminal);
      terminal.start();
      // Many terminals start concurrently on busy machines.
      await terminal.waitUntilOnline(60_000);
      return terminal;
    },
    stop: async () => {
      await Promise.all(terminals.map((terminal) => terminal.stop()));
      await release();
    },
  };
}

/** Requests a URL and reads the JSON response. */
export async function getJson(url: string, init?: RequestInit): Promise<ApiResponse> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}
