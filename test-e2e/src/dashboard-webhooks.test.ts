import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { verifySecret, verifySignature } from '@fleet/webhook-receiver';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { type DashboardBrowser, findAccessibilityFaults, openDashboard } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { type ProductHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let harness: ProductHarness;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;
let terminal: SimulatedTerminal;
let vehicleId: number;

/** A receiver of webhooks, which responds with `status`. */
let receiver: Server;
let status = 200;
let received: Received[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.writeHead(status).end(status === 200 ? 'ok' : 'the queue is full');
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  harness = await startHarness({
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_RETRY_WAITS_MS: '200,300',
    WEBHOOK_SWEEP_MS: '200',
    RATE_LIMIT_WEBHOOK_TEST_PER_MINUTE: '1000',
  });
  client = await PlatformClient.logIn(harness);
  const imei = uniquePhone();
  vehicleId = Number((await client.requestData('/vehicles', { vehicle_no: 'HOOK 7', name: 'Van 7', imei })).id);
  terminal = await harness.startTerminal({ phone: imei, reportIntervalMs: 500 });
  ({ browser, page } = await openDashboard(harness));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
  receiver?.close();
}, 90_000);

beforeEach(async () => {
  status = 200;
  received = [];
  // An open page would read what is deleted here.
  await page.goto('about:blank');
  for (const { id } of await client.listAll('/user-webhooks')) await client.remove(`/user-webhooks/${String(id)}`);
});

/** Fails a test whose page had an error, even if the test saw what it waited for. */
const expectNoFaults = (): void => expect(browser.faults.splice(0)).toEqual([]);
afterEach(expectNoFaults);

const hookUrl = (): string => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
const open = (path = '/profile/webhooks') => page.goto(`${browser.baseUrl}${path}`);
const dialog = (): Locator => page.getByRole('dialog').last();

/** Adds a webhook as a person does, and returns the secret that the page shows. */
async function addWebhook(name: string): Promise<string> {
  await open();
  await page.getByRole('button', { name: 'Add webhook' }).click();
  await page.getByLabel('URL').fill(hookUrl());
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByRole('button', { name: 'Save' }).click();
  return page.getByText(/^whsec_/).innerText();
}

const card = (name: string): Locator => page.getByRole('listitem', { name });

const isGenuine = ({ headers, body }: Received, secret: string): boolean =>
  verifySignature({ headers, body, secrets: [secret] }).kind === 'verified';

describe('adding a webhook', () => {
  it('shows the secret once, with programs that verify requests, and sends a test', async () => {
    const secret = await addWebhook('ERP');
    await dialog().getByText('createHmac').first().waitFor();
    await dialog().getByText('Python', { exact: true }).click();
    await dialog().getByText('hmac.compare_digest').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'webhook-secret');
    await dialog().getByRole('button', { name: 'Send', exact: true }).click();
    await dialog()
      .getByText(/Attempt: 200 in \d+ ms/)
      .waitFor();
    expect(received).toHaveLength(1);
    expect(received.every((request) => isGenuine(request, secret))).toBe(true);
    await dialog().getByRole('button', { name: 'I have saved the secret' }).click();
    terminal.raiseAlarm('collision');
    await waitFor(() => received.length > 1, 'the delivery of an event');
    expect(received[1]?.headers['x-webhook-secret']).toBe(secret);
    // Without a reload.
    await card('ERP')
      .getByText(/24 h: 1, 100%/)
      .waitFor();
    await page.reload();
    await card('ERP').getByText('Active').waitFor();
    expect(await page.content()).not.toContain(secret);
    await takePictures(page, 'webhooks');
  });

  it("accepts the user's own secret, and shows faults at their fields", async () => {
    browser.expectStatus(400);
    await open();
    await page.getByRole('button', { name: 'Add webhook' }).click();
    await page.getByLabel('URL').fill('http://10.0.0.1/hook');
    await dialog().getByText('My own secret').click();
    await dialog().locator('input[type=password]').fill('an-own-secret');
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog().locator('.mantine-InputWrapper-error').waitFor();
    await page.getByLabel('URL').fill(hookUrl());
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog().getByRole('button', { name: 'Send', exact: true }).click();
    await waitFor(() => received.length === 1, 'the test');
    expect(verifySecret(String(received[0]?.headers['x-webhook-secret']), ['an-own-secret'])).toBe(true);
    expect(received.every((request) => isGenuine(request, 'an-own-secret'))).toBe(true);
  });

  it('works with the keyboard alone', async () => {
    await open();
    await page.getByRole('button', { name: 'Add webhook' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('input[type=url]:focus').waitFor();
    await page.keyboard.type(hookUrl());
    await page.keyboard.press('Enter');
    await page.getByText(/^whsec_/).waitFor();
    await page.getByRole('button', { name: 'I have saved the secret' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Delete', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Delete this webhook?').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Delete this webhook?').waitFor({ state: 'detached' });
    expect(await client.listAll('/user-webhooks')).toHaveLength(1);
  });
});

describe('changing a webhook', () => {
  it('limits it to events and vehicles, and adds headers', async () => {
    await addWebhook('Alerts');
    await page.getByRole('button', { name: 'I have saved the secret' }).click();
    await card('Alerts').getByRole('button', { name: 'Edit' }).click();
    await dialog().getByRole('radiogroup', { name: 'Vehicles' }).getByText('Chosen').click();
    await dialog().locator('input').and(dialog().getByLabel('Chosen vehicles')).fill('van 7');
    await page.getByRole('option', { name: /Van 7$/ }).click();
    await dialog().getByRole('radiogroup', { name: 'Events' }).getByText('Chosen').click();
    await dialog().locator('input').and(dialog().getByLabel('Chosen events')).fill('sos');
    await page.getByRole('option', { name: 'SOS', exact: true }).click();
    await page.keyboard.press('Escape');
    await dialog().getByRole('button', { name: 'Add header' }).click();
    await dialog().getByRole('textbox', { name: 'Header name' }).fill('X-Tenant');
    await dialog().getByRole('textbox', { name: 'Header value' }).fill('seven');
    await takePictures(page, 'webhook-editor');
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog().waitFor({ state: 'detached' });
    const [stored] = await client.listAll('/user-webhooks');
    expect(stored).toMatchObject({
      notification_types: ['sos'],
      vehicle_ids: [vehicleId],
      headers: { 'X-Tenant': 'seven' },
    });
  });

  it('shows what was saved elsewhere, and keeps neither version without a decision', async () => {
    browser.expectStatus(412);
    await addWebhook('Twice');
    await page.getByRole('button', { name: 'I have saved the secret' }).click();
    const second = await browser.newPage('/profile/webhooks');
    await second.getByRole('button', { name: 'Edit' }).click();
    await card('Twice').getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Name', { exact: true }).fill('First window');
    await page.getByRole('button', { name: 'Save' }).click();
    await card('First window').waitFor();
    await second.getByLabel('Name', { exact: true }).fill('Second window');
    await second.getByRole('button', { name: 'Save' }).click();
    const conflict = second.getByRole('alert').filter({ hasText: 'Somebody else has changed this record' });
    await conflict.getByRole('row', { name: 'Name Second window First window' }).waitFor();
    await second.getByRole('button', { name: 'Keep mine' }).click();
    await second.getByRole('listitem', { name: 'Second window' }).waitFor();
    await second.close();
    expect(await client.listAll('/user-webhooks')).toMatchObject([{ name: 'Second window' }]);
  });
});

describe('a failing receiver', () => {
  it('is shown with its responses and advice; a retry and a replay deliver the events', async () => {
    const secret = await addWebhook('Busy');
    await page.getByRole('button', { name: 'I have saved the secret' }).click();
    status = 500;
    terminal.raiseAlarm('emergency');
    await card('Busy').getByRole('button', { name: 'Deliveries' }).click();
    const row = dialog().getByRole('button', { name: /SOS/ });
    await row.getByText(/500 in \d+ ms/).waitFor();
    await row.click();
    await dialog().getByRole('region', { name: 'Attempt 1', exact: true }).getByText('the queue is full').waitFor();
    await dialog().getByText('The receiver failed. Read its log for the time of the attempt.').first().waitFor();
    await dialog()
      .getByText(/^X-Webhook-Secret: \*+/im)
      .first()
      .waitFor();
    expect(await page.content()).not.toContain(secret);
    await takePictures(page, 'webhook-deliveries');
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await row.getByText(/Failed, 3 attempts/).waitFor();
    status = 200;
    await dialog().getByRole('button', { name: 'Retry' }).click();
    await row.getByText('Succeeded').waitFor();
    status = 500;
    terminal.raiseAlarm('rollover');
    const other = dialog().getByRole('button', { name: /rollover/i });
    await other.getByText(/Failed, 3 attempts/).waitFor();
    status = 200;
    await dialog()
      .getByRole('button', { name: /^Replay what failed/ })
      .click();
    await dialog().getByText('1 delivery is queued').waitFor();
    await other.getByText('Succeeded').waitFor();
    await dialog().getByLabel('Status').selectOption('failed');
    await dialog().getByText('There are no deliveries for these filters').waitFor();
    expect(received.every((request) => isGenuine(request, secret))).toBe(true);
  });

  it('that is gone disables the webhook, which can be enabled again', async () => {
    await addWebhook('Old');
    await page.getByRole('button', { name: 'I have saved the secret' }).click();
    status = 410;
    terminal.raiseAlarm('stolen');
    await card('Old').getByText('Disabled: the receiver returned 410').waitFor();
    await card('Old').getByRole('button', { name: 'Enable' }).click();
    await card('Old').getByText('Active').waitFor();
    expect(await client.listAll('/user-webhooks')).toMatchObject([{ status: 'active', disabled_reason: null }]);
  });
});

describe('a new secret', () => {
  it('signs beside the old one, which remains valid for the grace period', async () => {
    const old = await addWebhook('Rotated');
    await page.getByRole('button', { name: 'I have saved the secret' }).click();
    await card('Rotated').getByRole('button', { name: 'New secret' }).click();
    await dialog().getByText('72 h', { exact: true }).click();
    await dialog().getByRole('button', { name: 'Save' }).click();
    const fresh = await page.getByText(/^whsec_/).innerText();
    expect(fresh).not.toBe(old);
    await dialog().getByRole('button', { name: 'Send', exact: true }).click();
    await waitFor(() => received.length === 1, 'the test');
    expect([old, fresh].map((secret) => received.every((request) => isGenuine(request, secret)))).toEqual([true, true]);
    expect(received[0]?.headers['x-webhook-secret']).toBe(old);
  });
});

describe('deleting a webhook', () => {
  it('requires a confirmation', async () => {
    await addWebhook('Gone');
    await page.getByRole('button', { name: 'I have saved the secret' }).click();
    await card('Gone').getByRole('button', { name: 'Delete' }).click();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There are no webhooks yet').waitFor();
    expect(await client.listAll('/user-webhooks')).toEqual([]);
  });
});
