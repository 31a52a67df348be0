import { readFileSync } from 'node:fs';
import { waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import { closeOthers, DashboardBrowser, findAccessibilityFaults, logIn } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { type ProductHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

const password = 'correct horse battery';
/** Time within which access ends everywhere. */
const endMs = 5_000;
const licence = readFileSync(new URL('../../services/platform-api/src/testing/licence.png', import.meta.url));

let harness: ProductHarness;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;
const browsers: DashboardBrowser[] = [];

beforeAll(async () => {
  // Unassigned terminals are listed for the owner of the only account.
  harness = await startHarness({ SIGNUP_ENABLED: 'true' });
  client = await PlatformClient.logIn(harness);
  browser = await openBrowser();
  page = await browser.newPage('/login');
  await logIn(page, harness.product.runtime.demo);
}, 240_000);

afterAll(async () => {
  for (const opened of browsers) await opened.close();
  await harness?.stop();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
const expectNoFaults = (): void => expect(browsers.flatMap(({ faults }) => faults.splice(0))).toEqual([]);
afterEach(expectNoFaults);
afterEach(() => closeOthers(browsers));

async function openBrowser(): Promise<DashboardBrowser> {
  const opened = await DashboardBrowser.open(harness);
  browsers.push(opened);
  return opened;
}

const open = (path: string, of = page) => of.goto(`${browser.baseUrl}${path}`);
const dialog = (of = page) => of.getByRole('dialog').last();
/** A dialog moves the focus to its first field; typing before that would be lost. */
const waitForFocus = (of = page) => of.locator('[role=dialog] :focus').waitFor();

const createVehicle = async (vehicleNo: string): Promise<number> =>
  Number((await client.requestData('/vehicles', { vehicle_no: vehicleNo, imei: uniquePhone() }))['id']);

describe('an empty account', () => {
  it.each([
    ['/map', /^There are no vehicles yet/],
    ['/vehicles', /^There are no vehicles yet/],
    ['/events', 'All handled'],
    ['/media', /^No clips yet/],
    ['/messages', 'There are no messages'],
    ['/support', 'There are no tickets'],
    ['/drivers', 'There are no drivers yet'],
    ['/sharing', 'There is no share link'],
    ['/devices/unassigned', 'No terminal is waiting'],
    ['/devices/mining', 'There are no mining devices'],
    ['/devices/partners', 'There are no partners'],
  ])('has a page %s that says what belongs there', async (path, text) => {
    await open(path);
    await page.getByText(text).first().waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('lists a terminal as soon as it connects; added as a vehicle it appears in another window and drives', async () => {
    await open('/vehicles');
    const other = await browser.newPage('/devices');
    await other.getByText('No terminal is waiting').waitFor();
    await other.getByRole('status').getByText('Live', { exact: true }).waitFor();
    const imei = uniquePhone();
    const terminal = await harness.startTerminal({ phone: imei, reportIntervalMs: 500 });
    const row = other.getByRole('row', { name: new RegExp(imei.slice(-11)) });
    await row.waitFor();
    expect(await findAccessibilityFaults(other)).toEqual([]);
    await takePictures(other, 'devices');
    await row.getByRole('button', { name: /^Add as a vehicle/ }).click();
    await waitForFocus(other);
    await dialog(other).getByLabel('Number').fill('KL 07 FIRST');
    await dialog(other).getByRole('button', { name: 'Save' }).click();
    await row.waitFor({ state: 'detached' });
    await other.close();
    const vehicle = page.getByRole('row', { name: /KL07FIRST/ });
    await vehicle.getByText(/Moving|Idle|Stopped/).waitFor();
    await terminal.stop();
  });
});

describe('mining devices and partners', () => {
  it('are added, found, changed and deleted', async () => {
    const imei = `868${String(Date.now()).slice(-12)}`;
    await open('/devices/mining');
    await page.getByRole('button', { name: 'Add a mining device' }).click();
    await waitForFocus();
    await dialog().getByLabel('Number').fill('12');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().getByText('This value has the wrong form.').waitFor();
    await dialog().getByLabel('Number').fill(imei);
    await dialog().getByLabel('Permit').fill('P 77');
    await dialog().getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('row', { name: new RegExp(imei) });
    await row.getByText('P 77').waitFor();
    await row.getByRole('button', { name: /^Edit/ }).click();
    await waitForFocus();
    await dialog().getByLabel('Site').fill('Quarry 3');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await row.getByText('Quarry 3').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'mining');
  });

  it('offer both versions when somebody else has changed a mining device', async () => {
    browser.expectStatus(412);
    await page.getByRole('button', { name: /^Edit/ }).click();
    await waitForFocus();
    await dialog().getByLabel('Site').fill('Mine');
    const [device] = (await client.request('/mining-devices/list', {}))['data'] as PlatformRecord[];
    await client.update(`/mining-devices/${Number(device?.['id'])}`, { site: 'Theirs', owner_name: 'Quarry Ltd' });
    await dialog().getByRole('button', { name: 'Save' }).click();
    const conflict = dialog().getByRole('row', { name: /Site/ });
    await conflict.waitFor();
    expect(await conflict.innerText()).toMatch(/Mine\s+Theirs/);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await dialog().getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('row', { name: /Mine.*Quarry Ltd/ }).waitFor();
  });

  it('lose their positions after a word was typed, and stay themselves', async () => {
    await page.getByRole('button', { name: 'Delete positions' }).click();
    await waitForFocus();
    const submit = dialog().getByRole('button', { name: 'Delete them now' });
    expect(await submit.isDisabled()).toBe(true);
    await dialog().getByLabel('Type “CLEAR”', { exact: false }).fill('clear');
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await submit.click();
    await dialog().getByText('0 positions and 0 heartbeats were deleted.').waitFor();
    await dialog().getByRole('button', { name: 'Close' }).last().click();
    const row = page.getByRole('row', { name: /Quarry Ltd/ });
    await row.getByRole('button', { name: /^Edit/ }).click();
    await dialog().getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog().getByRole('button', { name: 'Delete it now' }).click();
    await page.getByText('There are no mining devices').waitFor();
  });

  it('show the token of a partner once', async () => {
    await open('/devices/partners');
    await page.getByRole('button', { name: 'Add a partner' }).click();
    await waitForFocus();
    await dialog().getByLabel('Name').fill('Quarry hub');
    await dialog().getByLabel('Numbers that begin with').fill('8681, 8682');
    await dialog().getByRole('button', { name: 'Save' }).click();
    const notice = page.getByRole('status').filter({ hasText: 'Token of Quarry hub' });
    const token = await notice.locator('code').innerText();
    expect(token.length).toBeGreaterThan(20);
    await page
      .getByRole('row', { name: /Quarry hub/ })
      .getByText('8681, 8682')
      .waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await notice.getByRole('button', { name: 'I have saved the token' }).click();
    await open('/devices/partners');
    const row = page.getByRole('row', { name: /Quarry hub/ });
    await row.getByText(`ends with ${token.slice(-4)}`).waitFor();
    await takePictures(page, 'partners');
    await waitForAssertion(async () => expect(await page.locator('body').innerText()).not.toContain(token));
    await row.getByRole('button', { name: /^Edit/ }).click();
    await waitForFocus();
    await dialog().getByLabel('Numbers that begin with').fill('8683');
    const [partner] = await client.listAll('/partners');
    await client.update(`/partners/${Number(partner?.['id'])}`, { imei_prefixes: ['8684'] });
    await dialog().getByRole('button', { name: 'Save' }).click();
    expect(
      await dialog()
        .getByRole('row', { name: /Numbers that begin with/ })
        .innerText(),
    ).toMatch(/8683\s+8684/);
    await dialog().getByRole('button', { name: 'Take theirs' }).click();
    await dialog().getByRole('alert').waitFor({ state: 'detached' });
    expect(await dialog().getByLabel('Numbers that begin with').inputValue()).toBe('8684');
    await dialog().getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog().getByRole('button', { name: 'Delete it now' }).click();
    await page.getByText('There are no partners').waitFor();
  });
});

describe('drivers', () => {
  it('get their fields from a photo of the licence, which the user confirms and keeps', async () => {
    await open('/map');
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Drivers' }).click();
    await page.getByRole('button', { name: 'Add the first driver' }).click();
    await waitForFocus();
    await dialog()
      .locator('input[type=file]')
      .setInputFiles({ name: 'licence.png', mimeType: 'image/png', buffer: licence });
    await dialog()
      .getByText(/^\d fields were read$/)
      .waitFor();
    await waitForAssertion(async () =>
      expect(await dialog().getByLabel('Licence number').inputValue()).toBe('KA0120110012345'),
    );
    await waitForAssertion(async () =>
      expect(await dialog().getByLabel('Date of birth').inputValue()).toBe('1984-08-12'),
    );
    expect(await client.listAll('/drivers')).toEqual([]);
    await dialog().getByRole('textbox', { name: 'Name', exact: true }).fill('Asha Nair');
    await dialog().getByLabel('Phone', { exact: true }).fill('+91 98123 45678');
    await dialog()
      .getByLabel('Valid until')
      .fill(new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10));
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'driver-reading');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Asha Nair' }).waitFor();
    await page.getByRole('region', { name: 'Driving licence' }).getByText('Ends in 10 days').waitFor();
    const documents = page.getByRole('region', { name: 'Documents' });
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      documents.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(readFileSync(await file.path())).toEqual(licence);
  });

  it('are assigned to vehicles, which link to them', async () => {
    const id = await createVehicle('KL 07 DRIVE');
    const [driver] = await client.listAll('/drivers');
    await open(`/drivers/${String(driver?.['id'])}`);
    const vehicles = page.getByRole('region', { name: 'Vehicles' });
    await vehicles.getByLabel('Another vehicle').selectOption({ label: 'KL07DRIVE' });
    await vehicles.getByRole('button', { name: 'Assign', exact: true }).click();
    await vehicles.getByRole('link', { name: 'KL07DRIVE' }).waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'driver');
    await vehicles.getByRole('link', { name: 'KL07DRIVE' }).click();
    await page.getByRole('link', { name: 'Asha Nair' }).click();
    await page.getByRole('heading', { name: 'Asha Nair' }).waitFor();
    expect(await client.requestData(`/vehicles/${id}`)).toMatchObject({ driver_id: driver?.['id'] });
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Find a page, vehicle, driver or place').fill('asha');
    await page.getByRole('dialog').getByText('Asha Nair').click();
    await vehicles.getByRole('button', { name: 'Remove KL07DRIVE' }).click();
    await vehicles.getByText('No vehicle is assigned.').waitFor();
  });

  it('are searched, sorted and exported', async () => {
    await client.requestData('/drivers', { name: 'Bela Rao', license_number: 'XX 1', status: 'inactive' });
    await client.requestData('/drivers', { name: '=2+3', license_expiry_date: '2020-01-31' });
    await open('/drivers?sort=-name');
    const table = page.getByRole('table', { name: 'Drivers' });
    await table.getByText('Expired').waitFor();
    await waitForAssertion(async () =>
      expect(await table.getByRole('link').allInnerTexts()).toEqual(['Bela Rao', 'Asha Nair', '=2+3']),
    );
    await takePictures(page, 'drivers');
    expect(await findAccessibilityFaults(page)).toEqual([]);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ]);
    expect(readFileSync(await file.path(), 'utf8')).toContain("\r\n'=2+3,");
    await page.getByRole('searchbox', { name: 'Find a driver' }).fill('xx1');
    await table.getByRole('link', { name: 'Asha Nair' }).waitFor({ state: 'detached' });
    await waitForAssertion(async () => expect(await table.getByRole('link').allInnerTexts()).toEqual(['Bela Rao']));
    await page.getByLabel('Status').selectOption({ label: 'Active' });
    await page.getByText('No driver matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await table.getByRole('link', { name: 'Asha Nair' }).waitFor();
  });

  it('show both versions when the record was changed elsewhere, and are deleted after the name was typed', async () => {
    browser.expectStatus(412);
    const { id } = await client.requestData('/drivers', { name: 'Chitra' });
    const path = `/drivers/${String(id)}`;
    await open(path);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await waitForFocus();
    await dialog().getByLabel('Classes').fill('LMV');
    await client.update(path, { license_class: 'HMV' });
    await dialog().getByRole('button', { name: 'Save' }).click();
    const conflict = dialog().getByRole('row', { name: /Classes/ });
    await waitForAssertion(async () => expect(await conflict.innerText()).toMatch(/LMV\s+HMV/));
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await dialog().getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('region', { name: 'Driving licence' }).getByText('LMV').waitFor();
    await page.getByLabel('Type “Chitra” to confirm').fill('chitra');
    await page.getByRole('button', { name: 'Delete the driver' }).click();
    await page.getByRole('heading', { name: /^\d drivers$/ }).waitFor();
    expect((await client.listAll('/drivers')).map(({ name }) => name)).not.toContain('Chitra');
  });
});

describe('a viewer', () => {
  it('sees drivers without a form, and no sharing or devices', async () => {
    const email = 'vera-people@fleet.example';
    await client.requestData('/users', { name: 'Vera', email, password, role: 'viewer' });
    const other = await openBrowser();
    const visitor = await other.newPage('/login');
    await logIn(visitor, { email, password });
    await visitor.getByRole('button', { name: 'More', exact: true }).click();
    await visitor.getByRole('menuitem', { name: 'Drivers' }).click();
    await visitor.getByRole('link', { name: 'Bela Rao' }).click();
    await visitor.getByRole('heading', { name: /Bela Rao/ }).waitFor();
    for (const name of ['Edit', 'Assign', 'Delete the driver'])
      await waitForAssertion(async () =>
        expect(await visitor.getByRole('button', { name, exact: true }).count()).toBe(0),
      );
    for (const path of ['/sharing', '/devices', '/devices/partners']) {
      await open(path, visitor);
      await visitor.getByText('Your role cannot open this page').waitFor();
    }
    expect(other.faults).toEqual([]);
  });
});

describe('sharing', () => {
  const email = 'guest-people@fleet.example';

  it('with a user who is found by phone shows a masked name, gives access at once, and ends within five seconds', async () => {
    const phone = `+1415${String(Date.now()).slice(-7)}`;
    const account = await PlatformClient.register(harness, 'people');
    await account.client.requestData('/users', {
      name: 'Gita Rao',
      email,
      phone_number: phone,
      password,
      role: 'manager',
    });
    await createVehicle('KL 07 SHARE');
    const guestBrowser = await openBrowser();
    const guest = await guestBrowser.newPage('/login');
    await logIn(guest, { email, password });
    await open('/vehicles', guest);
    await guest.getByText('There are no vehicles yet').waitFor();
    await open('/sharing');
    await page.getByRole('button', { name: 'Share vehicles' }).click();
    await waitForFocus();
    await dialog().locator('input').and(dialog().getByLabel('Vehicles')).fill('share');
    await page.getByRole('option', { name: 'KL07SHARE' }).click();
    await dialog().getByLabel('Phone number').fill(phone);
    await dialog().getByRole('button', { name: 'Find' }).click();
    await dialog()
      .getByText(/^Found: G\*/)
      .waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await dialog().getByLabel('Ends').selectOption({ label: 'In 7 days' });
    await dialog().getByRole('button', { name: 'Share', exact: true }).click();
    const row = page.getByRole('table', { name: 'Users with access' }).getByRole('row', { name: /KL07SHARE/ });
    await row.getByText('Receive events').waitFor();
    await waitForAssertion(async () => expect(await row.innerText()).not.toContain('Gita'));
    const shared = guest.getByRole('link', { name: 'KL07SHARE' });
    await shared.waitFor();
    await row.getByRole('button', { name: 'Stop sharing' }).click();
    await shared.waitFor({ state: 'detached', timeout: endMs });
    await guest.getByText('There are no vehicles yet').waitFor();
    expect(guestBrowser.faults).toEqual([]);
  });

  it('by a link asks a guest on a phone for the password, shows one vehicle, counts views, and ends with a sentence', async () => {
    await open('/sharing');
    await page.getByRole('button', { name: 'New link' }).click();
    await waitForFocus();
    await dialog().getByLabel('Vehicle').selectOption({ label: 'KL07SHARE' });
    await dialog().getByLabel('Label').fill('Delivery 7');
    await dialog().getByLabel('Valid for').selectOption({ label: '4 hours' });
    await dialog().getByRole('textbox', { name: 'Password' }).fill('harbour');
    await dialog().getByLabel('Largest number of views').fill('3');
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await dialog().getByRole('button', { name: 'Create the link' }).click();
    const row = page.getByRole('table', { name: 'Share links' }).getByRole('row', { name: /Delivery 7/ });
    await row.getByText('0 / 3').waitFor();
    await takePictures(page, 'sharing');
    expect(await findAccessibilityFaults(page)).toEqual([]);
    const [link] = await client.listAll('/share-links?active=true');
    const other = await openBrowser();
    for (const status of [401, 404, 410]) other.expectStatus(status);
    const phone = await other.newPage('/login');
    await phone.setViewportSize({ width: 390, height: 844 });
    const bodies: string[] = [];
    phone.on('response', (response) => {
      if (response.url().includes('/public/share-links'))
        void response.text().then(
          (text) => bodies.push(text),
          () => undefined,
        );
    });
    await phone.goto(String(link?.['url']));
    await phone.getByRole('textbox', { name: 'Password' }).fill('harbour');
    await phone.getByRole('button', { name: 'Open' }).click();
    await phone
      .getByText(/Delivery 7/)
      .first()
      .waitFor();
    expect(await phone.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(bodies.join('')).not.toMatch(/"(imei|vehicle_id|account_id)"/);
    await open('/sharing');
    // The page stays current by its websocket: it has counted one view.
    await row.getByText('1 / 3').waitFor();
    await row.getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'detached' });
    await phone.getByText(/has ended/).waitFor({ timeout: endMs });
  });
});
