import { AppError, invalid } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Config } from '../../config.ts';
import type { Deps } from '../../deps.ts';
import { accountOf } from '../accounts/use-cases.ts';
import { vehiclesById } from '../vehicles/use-cases.ts';
import { statusAt, subscriptionStatus } from './rules.ts';
import type { GatewayName } from './schema.ts';
import { Customers, ordersIn, subscriptionsIn } from './store.ts';
import type { BillingParts } from './use-cases.ts';

const pageLifeMs = 15 * 60_000;
const purpose = 'billing page';
const maxRows = 200;

interface Ticket {
  readonly accountId: number;
  readonly returnUrl: string;
  readonly expiresAtMs: number;
}

/** Where a customer sees and changes what is paid: the gateway's portal, else our own page behind a signed link. */
export async function billingPortal(
  deps: BillingParts,
  caller: Caller,
  wishedReturnUrl: string | undefined,
): Promise<{ url: string; provider: GatewayName; expiresAt: Date }> {
  const { gateway } = deps.billing;
  const returnUrl = allowedReturnUrl(deps.config, wishedReturnUrl);
  const { accountId } = caller;
  const customers = new Customers(deps.database);
  const portal = await gateway.portal({
    accountId,
    returnUrl,
    customerId: await customers.find(gateway.name, caller),
    name: (await accountOf(deps.records, accountId))?.name ?? '',
    keepCustomer: (customerId) => customers.keep(gateway.name, caller, customerId),
  });
  if (portal !== null) return { ...portal, provider: gateway.name };
  const expiresAtMs = Date.now() + pageLifeMs;
  const ticket = deps.encryption.seal(JSON.stringify({ accountId, returnUrl, expiresAtMs } satisfies Ticket), purpose);
  const url = `${deps.config.PUBLIC_BASE_URL}/api/subscriptions/billing-page?ticket=${encodeURIComponent(ticket)}`;
  return { url, provider: gateway.name, expiresAt: new Date(expiresAtMs) };
}

/** Only known places are led back to: a link of ours that leads anywhere would lend our name to anybody. */
export function allowedReturnUrl(
  { PUBLIC_BASE_URL, BILLING_RETURN_URLS }: Pick<Config, 'PUBLIC_BASE_URL' | 'BILLING_RETURN_URLS'>,
  wished: string | undefined,
): string {
  if (wished === undefined || wished === '') return PUBLIC_BASE_URL;
  const allowed = [PUBLIC_BASE_URL, ...BILLING_RETURN_URLS.split(',')]
    .map((text) => text.trim())
    .filter((text) => text !== '');
  const url = URL.canParse(wished) ? new URL(wished) : null;
  if (url !== null && url.username === '' && url.password === '' && allowed.some((base) => isBelow(url, base)))
    return url.href;
  throw invalid([{ path: '/return_url', message: 'is not one of the allowed addresses' }]);
}

function isBelow(url: URL, base: string): boolean {
  if (!URL.canParse(base)) return false;
  const { protocol, host, pathname } = new URL(base);
  // Of addresses that open apps the origin says nothing.
  if (url.protocol !== protocol || url.host !== host) return false;
  const folder = pathname.replace(/\/+$/, '');
  return url.pathname === folder || url.pathname.startsWith(`${folder}/`);
}

/** The page behind a signed link: subscriptions and orders of the account. */
export async function billingPage(
  { records, encryption }: Pick<Deps, 'records' | 'encryption'>,
  sealed: string,
  now = new Date(),
): Promise<string> {
  const text = encryption.tryOpen(sealed, purpose);
  const ticket = text === null ? null : (JSON.parse(text) as Ticket);
  if (ticket === null || ticket.expiresAtMs <= now.getTime())
    throw new AppError('signature_invalid', 'The link is not valid any more.');
  const [orders, subscriptions] = await Promise.all([
    ordersIn(records).list(ticket, { paging: { limit: maxRows, offset: 0, page: 1 } }),
    subscriptionsIn(records).list(ticket, { paging: { limit: maxRows, offset: 0, page: 1 } }),
  ]);
  const ids = subscriptions.items.map(({ vehicleId }) => vehicleId);
  const vehicles = await vehiclesById(records, ticket, ids);
  const day = (moment: Date): string => moment.toISOString().slice(0, 10);
  return page(ticket.returnUrl, [
    {
      title: 'Subscriptions',
      head: ['Vehicle', 'Plan', 'Status', 'Until'],
      rows: subscriptions.items.map((one) => [
        vehicles.get(one.vehicleId)?.vehicleNo ?? `deleted (${one.vehicleId})`,
        one.plan,
        subscriptionStatus(one, now),
        day(one.expiresAt),
      ]),
    },
    {
      title: 'Orders',
      head: ['Order', 'Date', 'Plan', 'Amount', 'Status'],
      rows: orders.items.map((one) => [
        String(one._id),
        day(one.createdAt),
        one.plan,
        shownMoney(one.amount, one.currency),
        statusAt(one, now),
      ]),
    },
  ]);
}

/** Minor units are hundredths of most currencies, thousandths of some, and others have none. */
export function shownMoney(amount: number, currency: string): string {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions();
  return `${(amount / 10 ** digits).toFixed(digits)} ${currency}`;
}

interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

function page(returnUrl: string, tables: readonly Table[]): string {
  const cells = (tag: string, texts: readonly string[]): string =>
    `<tr>${texts.map((text) => `<${tag}>${escaped(text)}</${tag}>`).join('')}</tr>`;
  const body = tables.map(
    ({ title, head, rows }) =>
      `<h2>${escaped(title)}</h2><table>${cells('th', head)}${rows.map((row) => cells('td', row)).join('')}</table>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Billing</title><h1>Billing</h1>${body.join('')}<p><a href="${escaped(returnUrl)}">Back</a></p></html>`;
}
