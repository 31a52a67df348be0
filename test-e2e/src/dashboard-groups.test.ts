import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { DashboardBrowser, findAccessibilityFaults, logIn, openDashboard } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { joinSharedHarness, type ProductHarness } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord, type RegisteredAccount } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

let harness: ProductHarness;
let account: RegisteredAccount;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;
const vehicleIds = new Map<string, number>();

beforeAll(async () => {
  harness = await joinSharedHarness();
  account = await PlatformClient.register(harness, 'groups');
  client = account.client;
  for (const name of ['Truck 1', 'Truck 2', 'Truck 3', 'Van 1']) {
    const vehicle = await client.requestData('/vehicles', { vehicle_no: name.toUpperCase(), name });
    vehicleIds.set(name, Number(vehicle['id']));
  }
  ({ browser, page } = await openDashboard(harness, account));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const tree = (): Locator => page.getByRole('list', { name: 'Groups', exact: true });
const group = (name: string): Locator => tree().getByRole('link', { name: new RegExp(`^${name}`) });
const vehicle = (name: string): Locator => page.getByRole('list', { name: 'Vehicles' }).getByLabel(name);
const row = (name: string): Locator =>
  page.getByRole('list', { name: 'Vehicles' }).getByRole('listitem').filter({ hasText: name });

const findGroup = async (name: string): Promise<PlatformRecord> => {
  const found = (await client.listAll('/vehicle-groups')).find((each) => each['name'] === name);
  if (found === undefined) throw new Error(`There is no group ${name}.`);
  return found;
};
const membersOf = async (name: string): Promise<number[]> => (await findGroup(name))['vehicles'] as number[];
const idOf = (name: string): number => vehicleIds.get(name) ?? Number.NaN;

async function addGroup(name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a group' }).click();
  await page.locator('[role=dialog] :focus').waitFor();
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name, exact: true }).waitFor();
}

describe('the groups of an account', () => {
  it('begin with an explanation and the vehicles in no group', async () => {
    await page.goto(`${browser.baseUrl}/groups`);
    await page.getByText('There are no groups yet').waitFor();
    await vehicle('Van 1').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('are created at the top level and inside each other', async () => {
    await addGroup('South depot');
    // The open group is the parent of the next one.
    await addGroup('Kochi');
    expect(await findGroup('Kochi')).toMatchObject({ parent_group: (await findGroup('South depot'))['id'] });
    await page.getByText('No vehicle is in this group').waitFor();
  });

  it('take vehicles that are dragged onto them, and give them back', async () => {
    await group('Without a group').click();
    await vehicle('Truck 1').check();
    await vehicle('Truck 2').check();
    await row('Truck 1').dragTo(group('Kochi'));
    await page.getByText('2 vehicles moved to “Kochi”').waitFor();
    expect(await membersOf('Kochi')).toEqual([idOf('Truck 1'), idOf('Truck 2')]);
    await vehicle('Truck 1').waitFor({ state: 'detached' });
    await group('Kochi 2').waitFor();
    // The group above counts the vehicles below it.
    await group('South depot 2').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await vehicle('Truck 1').waitFor();
    expect(await membersOf('Kochi')).toEqual([]);
  });

  it('take vehicles by keyboard alone', async () => {
    await vehicle('Truck 3').focus();
    await page.keyboard.press('Space');
    const bar = page.getByRole('group', { name: '1 chosen' });
    await bar.getByLabel('Move to').selectOption({ label: 'South depot' });
    await bar.getByRole('button', { name: 'Move', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('1 vehicle moved to “South depot”').waitFor();
    expect(await membersOf('South depot')).toEqual([idOf('Truck 3')]);
  });

  it('can share a vehicle: it is added by name and also stays where it was', async () => {
    await group('Kochi').click();
    await page.getByRole('heading', { name: 'Kochi' }).waitFor();
    await page.getByLabel('Add vehicles').and(page.locator('input:visible')).fill('truck');
    await page.getByRole('option', { name: /Truck 3/ }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('1 vehicle added to “Kochi”').waitFor();
    expect(await membersOf('Kochi')).toEqual([idOf('Truck 3')]);
    expect(await membersOf('South depot')).toEqual([idOf('Truck 3')]);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'groups');
  });

  it('are renamed and moved to the top level by the form', async () => {
    const form = page.getByRole('form', { name: 'Record' });
    await form.getByLabel('Name').fill('Kochi port');
    await form.getByLabel('Inside').selectOption({ label: 'Top level' });
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('Saved', { exact: true }).waitFor();
    expect(await findGroup('Kochi port')).toMatchObject({ parent_group: null });
    await group('Kochi port').waitFor();
  });

  it('move with the mouse into each other, and never into a group below them', async () => {
    await group('Kochi port').dragTo(group('South depot'));
    await page.getByText('“Kochi port” moved into “South depot”').waitFor();
    expect(await findGroup('Kochi port')).toMatchObject({ parent_group: (await findGroup('South depot'))['id'] });
    browser.expectStatus(409);
    await group('South depot').dragTo(group('Kochi port'));
    await page.getByText('A group cannot be moved into itself or into a group below it.', { exact: false }).waitFor();
    await group('Kochi port').dragTo(group('Without a group'));
    await page.getByText('“Kochi port” moved to the top level').waitFor();
    expect(await findGroup('Kochi port')).toMatchObject({ parent_group: null });
  });

  it('offer both versions when somebody else has changed the group', async () => {
    browser.expectStatus(412);
    const id = Number((await findGroup('Kochi port'))['id']);
    const form = page.getByRole('form', { name: 'Record' });
    await form.getByLabel('Name').fill('Mine');
    await client.update(`/vehicle-groups/${id}`, { name: 'Theirs', description: 'Pier 4' });
    await form.getByRole('button', { name: 'Save' }).click();
    const conflict = form.getByRole('row', { name: /Name/ });
    await conflict.waitFor();
    expect(await conflict.innerText()).toMatch(/Mine\s+Theirs/);
    await form.getByRole('button', { name: 'Keep mine' }).click();
    await form.getByText('Saved', { exact: true }).waitFor();
    expect(await client.requestData(`/vehicle-groups/${id}`)).toMatchObject({ name: 'Mine', description: 'Pier 4' });
  });

  it('are deleted with the groups inside them after a confirmation; vehicles stay', async () => {
    await group('Mine').dragTo(group('South depot'));
    await page.getByText('“Mine” moved into “South depot”').waitFor();
    await group('South depot').click();
    await page.getByRole('heading', { name: 'South depot' }).waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Also delete the groups inside it').check();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('There are no groups yet').waitFor();
    expect(await client.listAll('/vehicle-groups')).toEqual([]);
    await vehicle('Truck 3').waitFor();
    expect(await client.listAll('/vehicles')).toHaveLength(vehicleIds.size);
  });
});

describe('a user without the permission', () => {
  it('has no entry for groups, and a direct link says who can change that', async () => {
    const email = `groups-viewer-${process.pid}@fleet.example`;
    const password = 'correct horse battery';
    await client.requestData('/users', { name: 'Viewer', email, role: 'viewer', password });
    const other = await DashboardBrowser.open(harness);
    try {
      const window = await other.newPage('/');
      await logIn(window, { email, password });
      await window.getByRole('button', { name: 'More' }).click();
      await window.getByRole('menuitem', { name: 'Geofences' }).waitFor();
      expect(await window.getByRole('menuitem', { name: 'Groups' }).count()).toBe(0);
      await window.goto(`${other.baseUrl}/groups`);
      await window.getByText('Your role cannot open this page').waitFor();
      expect(other.faults).toEqual([]);
    } finally {
      await other.close();
    }
  });
});
