import { AppError, minuteMs, validationError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Config } from '../../assembly/config.ts';
import type { Deps } from '../../platform/deps.ts';
import { getAccount } from '../accounts/use-cases.ts';
import { vehiclesById } from '../vehicles/use-cases.ts';
import { effectiveStatus, subscriptionStatus } from './rules.ts';
import type { GatewayName } from './schema.ts';
import { Customers, orderCollection, subscriptionCollection } from './store.ts';
import type { BillingDeps } from './use-cases.ts';

const pageTtlMs = 15 * minuteMs;
const sealPurpose = 'billing page';
const maxRows = 200;

interface PageTicket {
  readonly accountId: number;
  readonly returnUrl: string;
  readonly expiresAtMs: number;
}

/**
 * Returns a link to the page where customers see and change their subscriptions: the gateway's portal, or our own page
 * behind a signed link.
 */
export async function createPortal(
  deps: BillingDeps,
  caller: Caller,
  requestedReturnUrl: string | undefined,
): Promise<{ url: string; provider: GatewayName; expiresAt: Date }> {
  const { gateway } = deps.billing;
  const returnUrl = checkReturnUrl(deps.config, requestedReturnUrl);
  const { accountId } = caller;
  const customers = new Customers(deps.database);
  const portal = await gateway.createPortal({
    accountId,
    returnUrl,
    customerId: await customers.find(gateway.name, caller),
    name: (await getAccount(deps.records, accountId))?.name ?? '',
    saveCustomer: (customerId) => customers.save(gateway.name, caller, customerId),
  });
  if (portal !== null) return { ...portal, provider: gateway.name };
  const expiresAtMs = Date.now() + pageTtlMs;
  const ticket = deps.encryption.seal(
    JSON.stringify({ accountId, returnUrl, expiresAtMs } satisfies PageTicket),
    sealPurpose,
  );
  const url = `${deps.config.PUBLIC_BASE_URL}/api/subscriptions/billing-page?ticket=${encodeURIComponent(ticket)}`;
  return { url, provider: gateway.name, expiresAt: new Date(expiresAtMs) };
}

/**
 * Returns the return URL of a request if it is allowed. Throws 400 for others, since an open redirect under our name
 * could be abused.
 */
export function checkReturnUrl(
  { PUBLIC_BASE_URL, BILLING_RETURN_URLS }: Pick<Config, 'PUBLIC_BASE_URL' | 'BILLING_RETURN_URLS'>,
  requested: string | undefined,
): string {
  if (requested === undefined || requested === '') return PUBLIC_BASE_URL;
  const allowed = [PUBLIC_BASE_URL, ...BILLING_RETURN_URLS.split(',')]
    .map((text) => text.trim())
    .filter((text) => text !== '');
  const url = URL.canParse(requested) ? new URL(requested) : null;
  if (url !== null && url.username === '' && url.password === '' && allowed.some((base) => isUnderBase(url, base)))
    return url.href;
  throw validationError([{ path: '/return_url', message: 'is not one of the allowed addresses' }]);
}

function isUnderBase(url: URL, base: string): boolean {
  if (!URL.canParse(base)) return false;
  const { protocol, host, pathname } = new URL(base);
  // The origin of an app URL scheme is "null", so the protocol and the host are compared.
  if (url.protocol !== protocol || url.host !== host) return false;
  const folder = pathname.replace(/\/+$/, '');
  return url.pathname === folder || url.pathname.startsWith(`${folder}/`);
}

/** Renders the page behind a signed link with the subscriptions and orders of the account. */
export async function renderBillingPage(
  { records, encryption }: Pick<Deps, 'records' | 'encryption'>,
  sealed: string,
  now = new Date(),
): Promise<string> {
  const text = encryption.tryOpen(sealed, sealPurpose);
  const ticket = text === null ? null : (JSON.parse(text) as PageTicket);
  if (ticket === null || ticket.expiresAtMs <= now.getTime())
    throw new AppError('signature_invalid', 'The link is invalid or has expired. Request a new one.');
  const [orders, subscriptions] = await Promise.all([
    orderCollection(records).list(ticket, { paging: { limit: maxRows, offset: 0, page: 1 } }),
    subscriptionCollection(records).list(ticket, { paging: { limit: maxRows, offset: 0, page: 1 } }),
  ]);
  const ids = subscriptions.items.map(({ vehicleId }) => vehicleId);
  const vehicles = await vehiclesById(records, ticket, ids);
  const formatDay = (date: Date): string => date.toISOString().slice(0, 10);
  return renderPage(ticket.returnUrl, [
    {
      title: 'Subscriptions',
      head: ['Vehicle', 'Plan', 'Status', 'Until'],
      rows: subscriptions.items.map((one) => [
        vehicles.get(one.vehicleId)?.vehicleNo ?? `deleted (${one.vehicleId})`,
        one.plan,
        subscriptionStatus(one, now),
        formatDay(one.expiresAt),
      ]),
    },
    {
      title: 'Orders',
      head: ['Order', 'Date', 'Plan', 'Amount', 'Status'],
      rows: orders.items.map((one) => [
        String(one._id),
        formatDay(one.createdAt),
        one.plan,
        formatMoney(one.amount, one.currency),
        effectiveStatus(one, now),
      ]),
    },
  ]);
}

/** Formats an amount in minor units. Most currencies have two decimal digits, some have three or none. */
export function formatMoney(amount: number, currency: string): string {
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

const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

function renderPage(returnUrl: string, tables: readonly Table[]): string {
  const cells = (tag: string, texts: readonly string[]): string =>
    `<tr>${texts.map((text) => `<${tag}>${escapeHtml(text)}</${tag}>`).join('')}</tr>`;
  const body = tables.map(
    ({ title, head, rows }) =>
      `<h2>${escapeHtml(title)}</h2><table>${cells('th', head)}${rows.map((row) => cells('td', row)).join('')}</table>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Billing</title><h1>Billing</h1>${body.join('')}<p><a href="${escapeHtml(returnUrl)}">Back</a></p></html>`;
}
