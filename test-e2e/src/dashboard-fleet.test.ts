import { readFileSync } from 'node:fs';
import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  DashboardBrowser,
  findAccessibilityFaults,
  openDashboard,
  pageTimeoutMs,
} from './testing/dashboard-browser.ts';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type RegisteredAccount } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

let harness: ProductHarness;
let account: RegisteredAccount;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;

beforeAll(async () => {
  harness = await joinSharedHarness();
  account = await PlatformClient.register(harness, 'fleet');
  client = account.client;
  ({ browser, page } = await openDashboard(harness, account));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

const expectNoFaults = (): void => expect(browser.faults.splice(0)).toEqual([]);
afterEach(expectNoFaults);

const open = (path: string) => page.goto(`${browser.baseUrl}${path}`);

const createVehicle = async (vehicleNo: string): Promise<number> =>
  Number((await client.requestData('/vehicles', { vehicle_no: vehicleNo, imei: uniquePhone() }))['id']);

describe('an empty account', () => {
  it('offers to add the first vehicle, which appears and connects without a reload', async () => {
    const empty = await PlatformClient.register(harness, 'empty');
    const other = await DashboardBrowser.open(harness);
    try {
      const window = await other.newPage('/vehicles');
      await window.getByLabel('E-mail or phone').fill(empty.email);
      await window.locator('input[type=password]').fill(empty.password);
      await window.getByRole('button', { name: 'Log in', exact: true }).click();
      await window.getByText('There are no vehicles yet').waitFor();
      expect(await findAccessibilityFaults(window)).toEqual([]);
      const imei = uniquePhone();
      await window.getByRole('button', { name: 'Add the first vehicle' }).click();
      const dialog = window.getByRole('dialog');
      await dialog.getByLabel('Number').fill('KL 07 FIRST');
      await dialog.getByLabel('Terminal').fill(imei);
      await dialog.getByRole('button', { name: 'Save' }).click();
      const row = window.getByRole('row', { name: /KL07FIRST/ });
      await row.getByText('Never connected').waitFor();
      const terminal = await harness.startTerminal({ phone: imei, reportIntervalMs: 500 });
      await row.getByText(/Moving|Idle|Stopped/).waitFor();
      await terminal.stop();
      expect(other.faults).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe('the vehicle table', () => {
  it('imports 200 rows, names the 3 with faults, and exports cells that no spreadsheet executes', async () => {
    const lines = Array.from({ length: 200 }, (_, index) => `IMP ${index},Truck ${index},${index === 7 ? '123' : ''}`);
    lines[50] = 'IMP 50,=2+3,';
    lines[60] = ',without a number,';
    lines[199] = `IMP 199,${'x'.repeat(101)},`;
    await open('/vehicles');
    await page.getByRole('button', { name: 'Import CSV' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('CSV file').setInputFiles({
      name: 'fleet.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`vehicle_no,name,imei\n${lines.join('\n')}\n`),
    });
    await dialog.getByText('200 rows').waitFor();
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await dialog.getByText('197 created, 0 updated, 3 with faults').waitFor();
    const faulty = await dialog.getByRole('row').allInnerTexts();
    expect(faulty.slice(1).map((text) => text.split(/\s/)[0])).toEqual(['9', '62', '201']);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('textbox', { name: 'Find a vehicle' }).fill('IMP50');
    await page.getByRole('row', { name: /=2\+3/ }).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ]);
    const text = readFileSync(await file.path(), 'utf8');
    expect(text.split('\r\n')[1]).toMatch(/^IMP50,'=2\+3,/);
  });

  it('keeps filters, sorting and columns in the address', async () => {
    await open('/vehicles?q=IMP19&sort=-number&columns=number.name');
    const table = page.getByRole('table', { name: 'Vehicles' });
    await table.getByRole('link', { name: 'IMP198' }).waitFor();
    expect(await table.getByRole('columnheader').allInnerTexts()).toEqual([
      '',
      expect.stringMatching(/^Number/),
      'Name',
    ]);
    await waitForAssertion(async () =>
      expect((await table.getByRole('link').allInnerTexts()).slice(0, 2)).toEqual(['IMP198', 'IMP197']),
    );
    await page.getByLabel('All states').selectOption({ label: 'Moving' });
    await page.getByText('No vehicle matches').waitFor();
    await waitForAssertion(() => expect(new URL(page.url()).searchParams.get('state')).toBe('moving'));
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await table.waitFor();
  });

  it('deletes the selected vehicles after their count was typed', async () => {
    await open('/vehicles?q=IMP19&columns=number');
    await page.getByRole('checkbox', { name: 'Select IMP191' }).click();
    await page.getByRole('checkbox', { name: 'Select IMP192' }).click();
    await page.getByRole('region', { name: 'Selected vehicles' }).getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/Type “2”/).fill('2');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('link', { name: 'IMP191' }).waitFor({ state: 'detached' });
    expect(await client.listAll('/vehicles?query=IMP191')).toEqual([]);
  });
});

describe('the tabs of a vehicle', () => {
  it('store notification types and channels of the user', async () => {
    const id = await createVehicle('TAB 1');
    await open(`/vehicles/${id}/notifications`);
    await page.getByRole('button', { name: 'Mute this vehicle' }).click();
    await page.getByRole('checkbox', { name: 'SOS', exact: true }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    const stored = await client.requestData(`/notifications/vehicle-preferences/${id}`);
    expect(stored).toMatchObject({ notification_types: ['sos'], is_default: false });
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('link a route and show its state', async () => {
    const id = await createVehicle('TAB 2');
    const waypoints = [
      { lat: 9.9, lng: 76.2 },
      { lat: 9.95, lng: 76.25 },
    ];
    await client.requestData('/routes', { name: 'Harbour run', waypoints });
    await open(`/vehicles/${id}/routes`);
    await page.getByText('No route is linked to this vehicle').waitFor();
    await page.getByLabel('Another route').selectOption({ label: 'Harbour run' });
    await page.getByRole('button', { name: 'Link', exact: true }).click();
    await page.getByRole('listitem').getByText('Harbour run').waitFor();
    expect((await client.listAll(`/vehicles/${id}/list-linked-routes`)).map(({ name }) => name)).toEqual([
      'Harbour run',
    ]);
  });

  it('share the vehicle with a user who is found by phone number and shown masked', async () => {
    const id = await createVehicle('TAB 3');
    const phone = `+1415${String(Date.now()).slice(-7)}`;
    const guest = await PlatformClient.register(harness, 'guest');
    await guest.client.requestData('/users', { name: 'Asha Nair', phone_number: phone, role: 'viewer' });
    await open(`/vehicles/${id}/sharing`);
    await page.getByLabel('Phone number').fill(phone);
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByText(/Found: A\*\*\*/).waitFor();
    await page.getByRole('checkbox', { name: 'Watch live video' }).click();
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    const row = page.getByRole('table', { name: 'Users with access' }).getByRole('row', { name: /Watch live video/ });
    await row.waitFor();
    await waitForAssertion(async () => expect(await row.innerText()).not.toContain('Asha Nair'));
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await row.getByRole('button', { name: 'Stop sharing' }).click();
    await row.waitFor({ state: 'detached' });
    expect(await client.listAll(`/vehicle/get-shared-users?vehicle_id=${id}`)).toEqual([]);
  });

  it('create a link with a password and a limit of views, and revoke it', async () => {
    const id = await createVehicle('TAB 4');
    await open(`/vehicles/${id}/sharing`);
    await page.getByLabel('Label').fill('Delivery 7');
    await page.getByRole('textbox', { name: 'Password' }).fill('harbour');
    await page.getByLabel('Largest number of views').fill('3');
    await page.getByRole('button', { name: 'Create the link' }).click();
    const row = page.getByRole('row', { name: /Delivery 7/ });
    await row.getByText('0 / 3').waitFor();
    const [link] = await client.listAll(`/share-links?vehicle_id=${id}`);
    expect(link).toMatchObject({ label: 'Delivery 7', max_views: 3, has_password: true });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'detached' });
    expect(await client.listAll(`/share-links?vehicle_id=${id}`)).toEqual([]);
  });
});

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
    await waitForAssertion(async () => expect(await conflict.innerText()).toMatch(/Tata\s+Volvo/));
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await client.requestData(`/vehicles/${id}`)).toMatchObject({ make: 'Tata' });
    await page.getByLabel('Colour').fill('red');
    await client.update(`/vehicles/${id}`, { color: 'blue' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Take theirs' }).click();
    await waitForAssertion(async () => expect(await page.getByLabel('Colour').inputValue()).toBe('blue'));
  });

  it('deletes the vehicle after its number was typed', async () => {
    browser.expectStatus(404);
    const id = await createVehicle('SET 3');
    await open(`/vehicles/${id}/settings`);
    const remove = page.getByRole('button', { name: 'Delete this vehicle' });
    await waitForAssertion(async () => expect(await remove.isDisabled()).toBe(true));
    await page.getByLabel(/Type “SET3”/).fill('SET3');
    await remove.click();
    const listIds = async () => (await client.listAll('/vehicles')).map(({ id: left }) => left);
    await waitFor(async () => !(await listIds()).includes(id), 'the deletion', pageTimeoutMs);
    await page.getByRole('heading', { name: /vehicle/ }).waitFor();
    await waitForAssertion(async () => expect(await page.getByRole('link', { name: 'SET3' }).count()).toBe(0));
  });
});
