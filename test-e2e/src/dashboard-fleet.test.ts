import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import { DashboardBrowser, findAccessibilityFaults, logIn } from './testing/dashboard-browser.ts';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(180_000);

const pageTimeoutMs = 60_000;

let harness: ProductHarness;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;

beforeAll(async () => {
  harness = await joinSharedHarness();
  const account = await PlatformClient.register(harness, 'fleet');
  client = account.client;
  browser = await DashboardBrowser.open(harness);
  browser.context.setDefaultTimeout(pageTimeoutMs);
  page = await browser.newPage('/');
  await logIn(page, account);
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

const expectNoFaults = (): void => expect(browser.faults).toEqual([]);
afterEach(expectNoFaults);

const open = (path: string) => page.goto(`${browser.baseUrl}${path}`);

const createVehicle = async (vehicleNo: string): Promise<number> =>
  Number((await client.requestData('/vehicles', { vehicle_no: vehicleNo, imei: uniquePhone() }))['id']);

describe('the Settings tab of a vehicle', () => {
  it('saves changed fields, and marks a field that breaks a rule before it is sent', async () => {
    const id = await createVehicle('SET 1');
    await open(`/vehicles/${id}/settings`);
    await page.getByLabel('Year').fill('1800');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Use at least 1900.').waitFor();
    await page.getByLabel('Year').fill('2021');
    await page.getByLabel('Type', { exact: true }).selectOption('truck');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await client.requestData(`/vehicles/${id}`)).toMatchObject({ year: 2021, vehicle_type: 'truck' });
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('shows both versions when the record was changed in another window, and keeps the chosen one', async () => {
    browser.expectStatus(412);
    const id = await createVehicle('SET 2');
    await open(`/vehicles/${id}/settings`);
    await page.getByLabel('Make').fill('Tata');
    const other = await browser.newPage(`/vehicles/${id}/settings`);
    await other.getByLabel('Make').fill('Volvo');
    await other.getByRole('button', { name: 'Save' }).click();
    await other.getByText('Saved', { exact: true }).waitFor();
    await other.close();
    await page.getByRole('button', { name: 'Save' }).click();
    const conflict = page.getByRole('row', { name: /Make/ });
    await conflict.waitFor();
    expect(await conflict.innerText()).toMatch(/Tata\s+Volvo/);
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await client.requestData(`/vehicles/${id}`)).toMatchObject({ make: 'Tata' });
    await page.getByLabel('Colour').fill('red');
    await client.update(`/vehicles/${id}`, { color: 'blue' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Take theirs' }).click();
    expect(await page.getByLabel('Colour').inputValue()).toBe('blue');
  });

  it('deletes the vehicle after its number was typed', async () => {
    browser.expectStatus(404);
    const id = await createVehicle('SET 3');
    await open(`/vehicles/${id}/settings`);
    const remove = page.getByRole('button', { name: 'Delete this vehicle' });
    expect(await remove.isDisabled()).toBe(true);
    await page.getByLabel(/Type “SET3”/).fill('SET3');
    await remove.click();
    await page.getByRole('heading', { name: /vehicle/ }).waitFor();
    await page.getByRole('link', { name: 'SET3' }).waitFor({ state: 'detached' });
    expect((await client.listAll('/vehicles')).map(({ id: left }) => left)).not.toContain(id);
  });
});
