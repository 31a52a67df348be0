import { terminalControl, textMessage } from '@fleet/jt808';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { type DashboardBrowser, findAccessibilityFaults, openDashboard } from './testing/dashboard-browser.ts';
import { leaseHarness, type ProductHarness, shortWaitSettings, uniquePhone } from './testing/harness.ts';
import { PlatformClient } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

let harness: ProductHarness;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;
let terminal: SimulatedTerminal;
let vehicleId: number;

beforeAll(async () => {
  // A terminal that does not reply fails a command after seconds.
  harness = await leaseHarness(shortWaitSettings);
  const account = await PlatformClient.register(harness, 'commands');
  client = account.client;
  const imei = uniquePhone();
  vehicleId = Number((await client.requestData('/vehicles', { vehicle_no: 'KL07EF7788', imei }))['id']);
  terminal = await harness.startTerminal({ phone: imei, reportIntervalMs: 1_000 });
  ({ browser, page } = await openDashboard(harness, account));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

const expectNoFaults = (): void => expect(browser.faults.splice(0)).toEqual([]);
afterEach(expectNoFaults);

const openCommands = async (id = vehicleId): Promise<void> => {
  await page.goto(`${browser.baseUrl}/vehicles/${id}/commands`);
  await page.getByRole('region', { name: 'New command' }).waitFor();
};
const choose = (command: string) => page.getByLabel('Command', { exact: true }).selectOption({ label: command });
const sendButton = (): Locator =>
  page.getByRole('region', { name: 'New command' }).getByRole('button', { name: 'Send' });
/** The newest command of the list. */
const newest = (): Locator => page.getByRole('region', { name: 'Commands', exact: true }).getByRole('listitem').first();

describe('the Commands tab', () => {
  it("sends a text and shows the terminal's own result", async () => {
    await openCommands();
    await page.getByLabel('Text', { exact: true }).fill('Call the depot');
    await sendButton().click();
    await newest().getByText('Acknowledged').waitFor();
    await newest().getByText('The terminal reported: success').waitFor();
    expect(terminal.receivedFrames(textMessage.id)).toHaveLength(1);
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('marks an empty text and sends nothing', async () => {
    await openCommands();
    const before = terminal.receivedFrames(textMessage.id).length;
    await sendButton().click();
    await page.getByText('Fill in this field.').waitFor();
    expect(terminal.receivedFrames(textMessage.id)).toHaveLength(before);
  });

  it('restarts the terminal after a confirmation that shows what is sent', async () => {
    await openCommands();
    await choose('Control the terminal');
    await page.getByLabel('Action').selectOption({ label: 'Restart' });
    await sendButton().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('"command": 4').waitFor();
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await newest().getByText('Control the terminal').waitFor();
    await newest().getByText('Acknowledged').waitFor();
    expect(terminal.receivedFrames(terminalControl.id)).toHaveLength(1);
  });

  it('sends a critical command only after the number of the vehicle was typed', async () => {
    await openCommands();
    const before = terminal.receivedFrames(terminalControl.id).length;
    await choose('Control the terminal');
    await page.getByLabel('Action').selectOption({ label: 'Reset to factory settings' });
    await sendButton().click();
    const dialog = page.getByRole('dialog');
    const send = dialog.getByRole('button', { name: 'Send' });
    const name = dialog.getByLabel(/Type “KL07EF7788”/);
    await name.fill('KL07EF778');
    await waitForAssertion(async () => expect(await send.isDisabled()).toBe(true));
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await name.fill('kl07 ef7788');
    await send.click();
    await dialog.waitFor({ state: 'hidden' });
    await newest().getByText('"command": 5').waitFor({ state: 'attached' });
    await newest().getByText('Acknowledged').waitFor();
    expect(terminal.receivedFrames(terminalControl.id)).toHaveLength(before + 1);
  });

  it('says that the terminal refused, in its own words', async () => {
    terminal.setBehaviour({ kind: 'refusing', result: 1 }, textMessage.id);
    await openCommands();
    await page.getByLabel('Text', { exact: true }).fill('Refuse this');
    await sendButton().click();
    await newest()
      .getByText(/The terminal refused: /)
      .waitFor();
    await waitForAssertion(async () => expect(await newest().innerText()).toMatch(/failed/i));
    terminal.setBehaviour({ kind: 'normal' }, textMessage.id);
  });

  it('says after how many seconds a terminal has not responded', async () => {
    terminal.setBehaviour({ kind: 'silent' }, textMessage.id);
    await openCommands();
    await page.getByLabel('Text', { exact: true }).fill('Nobody reads this');
    await sendButton().click();
    await newest()
      .getByText(/No response in [1-9]\d* s/)
      .waitFor();
    await waitForAssertion(async () => expect(await newest().innerText()).toMatch(/failed/i));
    terminal.setBehaviour({ kind: 'normal' }, textMessage.id);
  });
});

describe('the queue of an offline vehicle', () => {
  it('keeps a command until the terminal connects, and shows the result without a reload', async () => {
    const imei = uniquePhone();
    const { id } = await client.requestData('/vehicles', { vehicle_no: 'QUEUED 1', imei });
    await openCommands(Number(id));
    await page.getByText(/The command waits in the queue/).waitFor();
    await page.getByLabel('Text', { exact: true }).fill('When you wake up');
    await sendButton().click();
    await newest().getByText('Queued', { exact: true }).waitFor();
    const sleeper = await harness.startTerminal({ phone: imei });
    await newest().getByText('Acknowledged').waitFor();
    expect(sleeper.receivedFrames(textMessage.id)).toHaveLength(1);
  });

  it('cancels a command that was not sent', async () => {
    const { id } = await client.requestData('/vehicles', { vehicle_no: 'QUEUED 2', imei: uniquePhone() });
    await openCommands(Number(id));
    await page.getByLabel('Text', { exact: true }).fill('Never mind');
    await sendButton().click();
    await newest().getByRole('button', { name: 'Cancel' }).click();
    await newest().getByText('Canceled').waitFor();
    const [command] = await client.listAll(`/vehicles/${String(id)}/commands`);
    expect(command).toMatchObject({ status: 'canceled', attempts: 0 });
  });
});
