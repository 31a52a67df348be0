import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { closeOthers, DashboardBrowser, findAccessibilityFaults, logIn } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { type ProductHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

const password = 'a long enough password';

let harness: ProductHarness;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;
const browsers: DashboardBrowser[] = [];

/** A provider that receives the messages of the installation. */
let provider: Server;
const messages: { to: string; text: string }[] = [];

beforeAll(async () => {
  provider = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      messages.push(JSON.parse(body) as { to: string; text: string });
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const smsUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/sms`;
  harness = await startHarness({ SMS_URL: smsUrl, SIGNUP_ENABLED: 'true' });
  client = await PlatformClient.logIn(harness);
  browser = await openBrowser();
  page = await browser.newPage('/login');
  await logIn(page, harness.product.runtime.demo);
}, 240_000);

afterAll(async () => {
  for (const opened of browsers) await opened.close();
  await harness?.stop();
  provider?.close();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
const expectNoFaults = (): void => expect(browser.faults.splice(0)).toEqual([]);
afterEach(expectNoFaults);
afterEach(() => closeOthers(browsers));

async function openBrowser(): Promise<DashboardBrowser> {
  const opened = await DashboardBrowser.open(harness);
  browsers.push(opened);
  return opened;
}

const open = (path: string, of = page) => of.goto(`${browser.baseUrl}${path}`);

/** Returns the code that an authenticator app displays now. */
const computeCode = (secret: string): string => new TOTP({ secret: Secret.fromBase32(secret) }).generate();

async function fillLogIn(visitor: Page, identifier: string, secret = password): Promise<void> {
  await visitor.getByLabel('E-mail or phone').fill(identifier);
  await visitor.locator('input[type=password]').fill(secret);
  await visitor.getByRole('button', { name: 'Log in', exact: true }).click();
}

const waitForMap = (visitor: Page) => visitor.getByRole('link', { name: 'Map', exact: true }).waitFor();

/** Creates a user with a password. */
const createUser = (fields: object) => client.requestData('/users', { name: 'Uma', password, ...fields });

describe('inviting a user without mail', () => {
  let link: string;

  it('says truthfully that nothing was sent, and gives the link to the inviter', async () => {
    await open('/account/users');
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill('vera@fleet.example');
    await dialog.getByLabel('Name').fill('Vera Viewer');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The invitation of Vera Viewer was not sent: this installation sends no mails').waitFor();
    link = await page.getByText(/\/reset-password#token=pr_/).innerText();
    await page.getByRole('cell', { name: 'vera@fleet.example' }).waitFor();
    await takePictures(page, 'users');
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('greets the person, removes the token from the address, and logs in with the new password', async () => {
    const other = await openBrowser();
    other.expectStatus(401);
    const visitor = await other.newPage(new URL(link).pathname + new URL(link).hash);
    await visitor.getByRole('heading', { name: /^Welcome to .+, Vera Viewer$/ }).waitFor();
    await waitForAssertion(() => expect(visitor.url()).not.toContain('token'));
    await takePictures(visitor, 'invitation');
    await visitor.locator('input[type=password]').fill(password);
    await visitor.getByRole('button', { name: 'Set password' }).click();
    await waitForMap(visitor);
    // A viewer sees no administration, also by a direct link.
    await waitForAssertion(async () => expect(await visitor.getByRole('link', { name: 'Account' }).count()).toBe(0));
    await open('/account/users', visitor);
    await visitor.getByText('Your role is Viewer. An owner or administrator can change it.').waitFor();
    await open('/profile/webhooks', visitor);
    await visitor.getByText('Your role cannot open this page').waitFor();
    const { id } = await client.requestData('/vehicles', { vehicle_no: 'VIEW 1', imei: uniquePhone() });
    await open(`/vehicles/${String(id)}/routes`, visitor);
    await visitor.getByRole('tab', { name: 'Routes' }).waitFor();
    await waitForAssertion(async () => expect(await visitor.getByRole('tab', { name: 'Settings' }).count()).toBe(0));
    await open(`/vehicles/${String(id)}/settings`, visitor);
    await visitor.getByText('Your role cannot open this page').waitFor();
    const again = await other.newPage(new URL(link).pathname + new URL(link).hash);
    await again
      .getByRole('alert')
      .getByText(/^This link was used already or has expired/)
      .waitFor();
    expect(other.faults).toEqual([]);
  });
});

describe('the log-in', () => {
  it('works with a code by SMS; a wrong code keeps the first step', async () => {
    await createUser({ name: 'Omar', phone_number: '+919812345678', role: 'manager' });
    const other = await openBrowser();
    other.expectStatus(401);
    const visitor = await other.newPage('/login');
    await visitor.getByRole('button', { name: 'Log in with a code' }).click();
    await visitor.getByLabel('Phone number with country code').fill('+91 98123 45678');
    await visitor.getByRole('button', { name: 'Send code' }).click();
    await visitor.getByRole('button', { name: /^Send again in \d+ s$/ }).waitFor();
    const sent = await waitFor(() => messages.find(({ to }) => to === '+919812345678'), 'the SMS');
    const code = /^\d{6}/.exec(sent.text)?.[0] ?? '';
    await visitor.getByLabel('Code from the SMS').fill(code === '000000' ? '000001' : '000000');
    await visitor.getByRole('button', { name: 'Log in', exact: true }).click();
    await visitor.getByRole('alert').waitFor();
    await visitor.getByLabel('Code from the SMS').fill(code);
    await visitor.getByRole('button', { name: 'Log in', exact: true }).click();
    await waitForMap(visitor);
    expect(other.faults).toEqual([]);
  });

  it('is locked until a stated time after five failures', async () => {
    const other = await openBrowser();
    other.expectStatus(401);
    other.expectStatus(429);
    const visitor = await other.newPage('/login');
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const response = visitor.waitForResponse(/auth\/login/);
      await fillLogIn(visitor, 'nobody@fleet.example', 'a wrong password');
      expect((await response).status()).toBe(401);
    }
    await fillLogIn(visitor, 'nobody@fleet.example', 'a wrong password');
    await visitor
      .getByRole('alert')
      .getByText(/^Too many attempts\. Try again at \d+:\d\d/)
      .waitFor();
    expect(other.faults).toEqual([]);
  });

  it('requires the second factor once it is set up, accepts a recovery code once, and an owner disables it', async () => {
    const email = 'tess@fleet.example';
    await createUser({ name: 'Tess', email, role: 'manager' });
    const other = await openBrowser();
    other.expectStatus(401);
    const visitor = await other.newPage('/profile/security');
    await fillLogIn(visitor, email);
    await visitor.getByRole('button', { name: 'Enable second factor' }).click();
    await visitor.getByRole('button', { name: 'Show the code' }).click();
    await visitor.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    const secret = await visitor.getByText(/^[A-Z2-7]{32}$/).innerText();
    await visitor.getByLabel('Code of the app').fill(computeCode(secret));
    await visitor.getByRole('button', { name: 'Confirm' }).click();
    const list = visitor.getByRole('list', { name: 'Recovery codes' });
    await list.waitFor();
    const codes = (await list.innerText()).split(/\s+/).filter((text) => text !== '');
    expect(codes).toHaveLength(10);
    await takePictures(visitor, 'recovery-codes');
    await visitor.getByRole('button', { name: 'I have saved the codes' }).click();
    await visitor.getByRole('button', { name: 'Disable second factor' }).waitFor();
    await takePictures(visitor, 'security');
    for (const expected of ['accepted', 'refused']) {
      await visitor.getByRole('button', { name: 'Log out' }).click();
      await fillLogIn(visitor, email);
      await visitor.getByLabel('Second factor').fill(codes[0] ?? '');
      await visitor.getByRole('button', { name: 'Log in', exact: true }).click();
      if (expected === 'refused')
        await visitor
          .getByRole('alert')
          .getByText(/^The code is wrong/)
          .waitFor();
      else await visitor.getByRole('button', { name: 'Log out' }).waitFor();
    }
    await open('/account/users');
    await page.getByRole('button', { name: 'Edit Tess' }).click();
    await page.getByRole('button', { name: 'Disable second factor' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await open('/login', visitor);
    await fillLogIn(visitor, email);
    await waitForMap(visitor);
    expect(other.faults).toEqual([]);
  });

  it('is possible for a visitor who registers an account', async () => {
    const other = await openBrowser();
    const visitor = await other.newPage('/login');
    await visitor.getByRole('link', { name: 'Create an account' }).click();
    await visitor.getByLabel('Company').fill('New Fleet Ltd');
    await visitor.getByLabel('Your name').fill('Nora');
    await visitor.getByLabel('E-mail').fill('nora@newfleet.example');
    await visitor.locator('input[type=password]').fill(password);
    expect(await findAccessibilityFaults(visitor)).toEqual([]);
    await visitor.getByRole('button', { name: 'Create an account' }).click();
    await waitForMap(visitor);
    await visitor.getByText('New Fleet Ltd').waitFor();
    expect(other.faults).toEqual([]);
  });
});

describe('the security tab', () => {
  it('changes the password, which ends other sessions, and shows an API key once', async () => {
    const email = 'sam@fleet.example';
    await createUser({ name: 'Sam', email, role: 'admin' });
    const other = await openBrowser();
    other.expectStatus(401);
    const visitor = await other.newPage('/profile/security');
    await fillLogIn(visitor, email);
    const form = visitor.getByRole('form', { name: 'Password' });
    await form.getByLabel('Current password').fill(password);
    await form.getByLabel('New password').fill('another long password');
    await form.getByRole('button', { name: 'Change password' }).click();
    await form.getByText('Your password is changed.').waitFor();
    const keys = visitor.getByRole('region', { name: 'API keys of the account' }).first();
    await keys.getByRole('button', { name: 'Add API key' }).click();
    await visitor.getByRole('dialog').getByLabel('Name').fill('ERP');
    await visitor.getByRole('button', { name: 'Save' }).click();
    const key = await visitor.getByText(/^fk_[\w-]{43}$/).innerText();
    await visitor.getByRole('button', { name: 'Close' }).click();
    await visitor.reload();
    await visitor.getByRole('cell', { name: 'ERP', exact: true }).waitFor();
    expect(await visitor.content()).not.toContain(key);
    await visitor.getByRole('button', { name: 'Revoke ERP' }).click();
    await visitor.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await visitor.getByRole('cell', { name: 'ERP', exact: true }).waitFor({ state: 'detached' });
    expect(await findAccessibilityFaults(visitor)).toEqual([]);
    expect(other.faults).toEqual([]);
  });
});

describe('the account pages', () => {
  it('filter the audit log and export it as CSV', async () => {
    await open('/account/audit');
    await page.getByLabel('Action').fill('users.create');
    await page.getByRole('cell', { name: 'users.create' }).first().waitFor();
    await takePictures(page, 'audit');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n');
    expect(lines[0]).toBe('time,user,action,target_type,target_id,ip,detail');
    expect(lines.slice(1).every((line) => line.includes(',users.create,'))).toBe(true);
    expect(lines.length).toBeGreaterThan(1);
  });

  it('save one part of the configuration, and list plans and orders', async () => {
    await open('/account/configuration');
    const card = page.getByRole('form', { name: 'Retention in days' });
    await card.getByLabel('Locations').fill('400');
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText('Saved').waitFor();
    expect(await client.requestData('/global-config')).toMatchObject({ retention: { locations_days: 400 } });
    await takePictures(page, 'configuration');
    await page.getByRole('tab', { name: 'Billing' }).click();
    await page.getByText('There are no orders yet').waitFor();
  });

  it.each(['light', 'dark'] as const)('have no serious accessibility fault in the %s theme', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    const faults: string[] = [];
    const paths = ['users', 'configuration', 'audit', 'billing'].map((tab) => `/account/${tab}`);
    for (const path of [...paths, '/profile/security', '/profile/notifications', '/messages', '/support']) {
      await open(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      faults.push(...(await findAccessibilityFaults(page)).map((fault) => `${path} ${fault}`));
    }
    expect(faults).toEqual([]);
  });
});

describe('the support page', () => {
  it('writes a ticket, replies and closes it', async () => {
    await open('/support');
    await page.getByText('There are no tickets').waitFor();
    await page.getByRole('button', { name: 'New ticket' }).click();
    await page.getByLabel('Subject').fill('A camera shows no picture');
    await page.getByLabel('Priority').selectOption('high');
    await page.getByLabel('Message').fill('Camera 2 of van 7.');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'A camera shows no picture' }).click();
    await page.getByLabel('Reply').fill('It works again.');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('dialog').getByText('It works again.').waitFor();
    await takePictures(page, 'support');
    await page.getByRole('button', { name: 'Close ticket' }).click();
    await page.getByRole('button', { name: 'Reopen' }).waitFor();
    const [ticket] = await client.listAll('/support-tickets');
    expect(ticket).toMatchObject({ status: 'closed', priority: 'high', replies: [{ message: 'It works again.' }] });
  });
});

describe('a dealer', () => {
  it('reads the account of a customer under a permanent bar, and leaves it', async () => {
    // Only the operator makes dealers, and a local start has no operator.
    const mongo = await MongoClient.connect(harness.product.runtime.backends.mongodb_url);
    const me = await client.requestData('/auth/me');
    const created = await createUser({ name: 'Dora', email: 'dora@fleet.example', role: 'viewer' });
    const database = mongo.db();
    await database
      .collection<{ _id: number }>('users')
      .updateOne({ _id: Number(created['id']) }, { $set: { role: 'dealer' } });
    const { id: dealerAccountId } = me['account'] as { id: number };
    const { matchedCount } = await database
      .collection('accounts')
      .updateOne({ name: 'New Fleet Ltd' }, { $set: { dealerAccountId } });
    await mongo.close();
    expect(matchedCount).toBe(1);
    const other = await openBrowser();
    const visitor = await other.newPage('/account/customers');
    await fillLogIn(visitor, 'dora@fleet.example');
    await visitor.getByRole('button', { name: 'Open New Fleet Ltd' }).click();
    await visitor.getByText('Customer: New Fleet Ltd, read only').waitFor();
    await visitor.getByRole('heading', { name: /vehicle/ }).waitFor();
    await takePictures(visitor, 'customer');
    await visitor.reload();
    await visitor.getByText('Customer: New Fleet Ltd, read only').waitFor();
    await visitor.getByRole('button', { name: 'Leave' }).click();
    await visitor.getByText('Customer: New Fleet Ltd, read only').waitFor({ state: 'detached' });
    expect(other.faults).toEqual([]);
  });
});

describe('the preferences', () => {
  it('turn the whole page Chinese, dark and wide at once, and after a reload', async () => {
    await open('/profile/preferences');
    await page.getByLabel('Theme').selectOption('dark');
    await page.getByLabel('Density').selectOption('comfortable');
    await page.getByLabel('Distance').selectOption('mi');
    await page.getByLabel('Language').selectOption('zh');
    const state = () =>
      page.evaluate<string>(
        `JSON.stringify([document.documentElement.lang, document.documentElement.dataset.density,
          document.documentElement.dataset.mantineColorScheme])`,
      );
    const expected = JSON.stringify(['zh', 'comfortable', 'dark']);
    await waitFor(async () => (await state()) === expected, 'the preferences on the whole page');
    await page.reload();
    await waitFor(async () => (await state()) === expected, 'the preferences after a reload');
    for (const path of ['/account/users', '/account/audit', '/support', '/messages', '/profile/security']) {
      await open(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      // The page starts in the language of the browser.
      await waitFor(async () => (await state()) === expected, `the preferences on ${path}`);
      const texts = await page.locator('h1, h2, nav a, button:visible, th, label').allInnerTexts();
      // Names of people and of techniques are the same in every language.
      const english = texts.filter((text) => /\b(?!Webhooks?\b|API\b|IP\b|CSV\b|SMS\b|Fleet\b)[A-Za-z]{4,}/.test(text));
      expect({ path, english: english.filter((text) => !/^(Vera|Tess|Omar|Sam|Dora|A camera)/.test(text)) }).toEqual({
        path,
        english: [],
      });
    }
    await takePictures(page, 'chinese');
    await open('/profile/preferences');
    await page.getByLabel('语言').selectOption('en');
    await page.getByRole('heading', { name: 'Profile', exact: true }).waitFor();
  });
});
