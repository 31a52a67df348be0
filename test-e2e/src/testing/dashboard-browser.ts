import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import type { ProductHarness } from './harness.ts';

const require = createRequire(import.meta.url);
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Software WebGL, no requests to the internet, and video that plays without a click. */
const browserArguments = [
  '--no-sandbox',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--autoplay-policy=no-user-gesture-required',
];

/** The page waits for the product, which shares the machine with the browser. */
export const pageTimeoutMs = 120_000;

/** Drawing a map in software takes most of the processor, and half of it at this resolution. */
const pixelRatio = process.env['DASHBOARD_PICTURES_DIR'] === undefined ? 0.5 : 1;

interface BrowserOptions {
  readonly colorScheme?: 'light' | 'dark';
  /** More arguments of Chromium. */
  readonly args?: readonly string[];
  /** Device pixels per CSS pixel, for tests that read pixels. */
  readonly pixelRatio?: number;
}

/** A violation of an accessibility rule. */
interface AxeViolation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** Chromium with the dashboard. Collects everything that must not happen on any page. */
export class DashboardBrowser {
  readonly context: BrowserContext;
  readonly baseUrl: string;
  /** Console errors, unhandled errors, violated policies and failed responses. */
  readonly faults: string[] = [];
  readonly #profile: string;
  readonly #expected = new Set<number>();
  readonly #expectedTexts: RegExp[] = [];

  private constructor(context: BrowserContext, baseUrl: string, profile: string) {
    this.context = context;
    this.baseUrl = baseUrl;
    this.#profile = profile;
  }

  static async open(harness: Pick<ProductHarness, 'product'>, options: BrowserOptions = {}): Promise<DashboardBrowser> {
    const profile = mkdtempSync(join(tmpdir(), 'fleet-dashboard-'));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium',
      headless: true,
      args: [...browserArguments, ...(options.args ?? [])],
      viewport: { width: 1280, height: 800 },
      deviceScaleFactor: options.pixelRatio ?? pixelRatio,
      locale: 'en-US',
      colorScheme: options.colorScheme ?? 'light',
      // Gliding vehicles make a browser that draws in software repaint without a pause.
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(pageTimeoutMs);
    return new DashboardBrowser(context, harness.product.runtime.base_url, profile);
  }

  /** Accepts responses with this status from now on. */
  expectStatus(status: number): void {
    this.#expected.add(status);
  }

  /** Accepts console errors with this text from now on, such as those of a websocket that a test cuts. */
  expectConsole(text: RegExp): void {
    this.#expectedTexts.push(text);
  }

  /** Opens a page whose faults are collected. */
  async newPage(path: string): Promise<Page> {
    const page = await this.context.newPage();
    page.on('pageerror', (error) => this.faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // Failed responses have their own line, with the address.
      const isExpected = [/^Failed to load resource/, ...this.#expectedTexts].some((text) => text.test(message.text()));
      if (message.type() === 'error' && !isExpected) this.faults.push(`console: ${message.text()}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400 && !this.#expected.has(response.status()))
        this.faults.push(`response: ${response.status()} ${new URL(response.url()).pathname}`);
    });
    await page.goto(`${this.baseUrl}${path}`);
    return page;
  }

  async close(): Promise<void> {
    await this.context.close();
    rmSync(this.#profile, { recursive: true, force: true });
  }
}

/** Closes all browsers but the first one, because a map in software uses the processor as long as it is open. */
export async function closeOthers(browsers: DashboardBrowser[]): Promise<void> {
  for (const browser of browsers.splice(1)) await browser.close();
}

/** Opens a browser with a page of a user who is logged in. */
export async function openDashboard(
  harness: Pick<ProductHarness, 'product'>,
  user: { email: string; password: string } = harness.product.runtime.demo,
  options: BrowserOptions = {},
): Promise<{ browser: DashboardBrowser; page: Page }> {
  const browser = await DashboardBrowser.open(harness, options);
  const page = await browser.newPage('/');
  await logIn(page, user);
  return { browser, page };
}

/** Logs a user in and waits for the map. */
export async function logIn(page: Page, user: { email: string; password: string }): Promise<void> {
  await page.getByLabel('E-mail or phone').fill(user.email);
  await page.locator('input[type=password]').fill(user.password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('list', { name: 'Vehicles' }).or(page.getByText('There are no vehicles yet')).waitFor();
}

/** Returns how far a page scrolls sideways, in pixels. Tables and maps scroll within themselves. */
export const readSidewaysScroll = (page: Page): Promise<number> =>
  page.evaluate<number>(
    `Math.max(...[document.documentElement, document.querySelector('main')].filter(Boolean).map(
      (element) => element.scrollWidth - element.clientWidth))`,
  );

const settledMs = 5_000;

/**
 * Returns the serious and critical violations of accessibility rules, one line each. Repeats the check for a few
 * seconds while there are some: a fading dialog has little contrast.
 */
export async function findAccessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const deadlineMs = performance.now() + settledMs;
  for (;;) {
    const faults = await runAxe(page);
    if (faults.length === 0 || performance.now() > deadlineMs) return faults;
  }
}

async function runAxe(page: Page): Promise<string[]> {
  const violations = await page.evaluate<AxeViolation[]>(
    'axe.run(document, { resultTypes: ["violations"] }).then((result) => result.violations)',
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
    );
}
