import { describe, expect, it } from '@jest/globals';
import { calculatePrice, type PlanFile } from './plans.ts';
import { checkReturnUrl, formatMoney } from './portal.ts';
import { addMonths, effectiveStatus, extendExpiry, previousStatuses, subscriptionStatus } from './rules.ts';
import type { Subscription } from './schema.ts';

const file: PlanFile = {
  currency: 'USD',
  plans: [
    { key: 'basic', name: 'Basic', monthly_prices: { USD: 333, INR: 24_900 } },
    { key: 'video', name: 'Video', monthly_prices: { USD: 900 } },
  ],
  month_discounts_percent: { '12': 10 },
  coupons: [
    { code: 'TEN', percent_off: 10 },
    { code: 'OLD', percent_off: 50, valid_until: '2026-01-31' },
    { code: 'FILM', percent_off: 20, plans: ['video'] },
  ],
};
const price = (more: Partial<Parameters<typeof calculatePrice>[1]>, today = '2026-02-01') =>
  calculatePrice(file, { plan: 'basic', vehicles: 1, months: 1, ...more }, today);

describe('formatMoney', () => {
  it.each([
    [123_456, 'USD', '1234.56 USD'],
    [5, 'INR', '0.05 INR'],
    [123_456, 'JPY', '123456 JPY'],
    [123_456, 'KWD', '123.456 KWD'],
  ])('formats %d minor units of %s as %s', (amount, currency, response) => {
    expect(formatMoney(amount, currency)).toBe(response);
  });
});

describe('price of an order', () => {
  it('is the number of vehicles times months times the monthly price', () => {
    expect(price({ vehicles: 3, months: 6 })).toEqual({
      amount: 5_994,
      currency: 'USD',
      lineItems: [{ description: 'Basic, 6 months', quantity: 3, unit_amount: 1_998, amount: 5_994 }],
    });
    expect(price({ currency: 'INR' })).toMatchObject({ amount: 24_900, currency: 'INR' });
  });

  it('includes the discount for months, then the coupon, each rounded down and in a separate line', () => {
    const { amount, lineItems } = price({ months: 12, coupon: 'ten' });
    expect(lineItems.map((line) => line.amount)).toEqual([3_996, -399, -359]);
    expect(amount).toBe(3_238);
  });

  it.each([
    ['/plan', { plan: 'gold' }],
    ['/currency', { currency: 'EUR' }],
    ['/coupon', { coupon: 'NONE' }],
    ['/coupon', { coupon: 'OLD' }],
    ['/coupon', { coupon: 'FILM' }],
  ])('rejects the field %s for %j', (path, more) => {
    expect(() => price(more)).toThrow(
      expect.objectContaining({ code: 'validation_failed', details: [{ path, message: expect.any(String) }] }),
    );
  });

  it('includes a coupon on its last day and for its plan', () => {
    expect(price({ coupon: 'OLD' }, '2026-01-31').amount).toBe(167);
    expect(price({ plan: 'video', coupon: 'FILM' }).amount).toBe(720);
  });
});

describe('status of an order', () => {
  it('can change to paid after a failure or expiry, but never after a refund', () => {
    expect(previousStatuses('paid')).toEqual(['created', 'pending', 'failed', 'expired']);
    expect(previousStatuses('refunded')).toEqual(['created', 'pending', 'failed', 'expired', 'paid']);
    expect(previousStatuses('failed')).toEqual(['created', 'pending']);
    expect(previousStatuses('created')).toEqual([]);
  });

  it('is expired after its expiry time unless the order is paid', () => {
    const [expiresAt, now] = [new Date(1_000), new Date(1_000)];
    expect(effectiveStatus({ status: 'created', expiresAt }, now)).toBe('expired');
    expect(effectiveStatus({ status: 'pending', expiresAt }, new Date(999))).toBe('pending');
    expect(effectiveStatus({ status: 'paid', expiresAt }, now)).toBe('paid');
  });
});

describe('subscription', () => {
  const at = (text: string): Date => new Date(text);

  it('ends on the same day of a later month, or on its last day', () => {
    expect(addMonths(at('2026-01-31T10:00:00Z'), 1)).toEqual(at('2026-02-28T10:00:00Z'));
    expect(addMonths(at('2026-11-15T10:00:00Z'), 3)).toEqual(at('2027-02-15T10:00:00Z'));
    expect(addMonths(at('2026-03-31T10:00:00Z'), -1)).toEqual(at('2026-02-28T10:00:00Z'));
  });

  it('is extended from its end while it is active, else from now', () => {
    const now = at('2026-06-01T00:00:00Z');
    expect(extendExpiry(at('2026-07-10T00:00:00Z'), 1, now)).toEqual(at('2026-08-10T00:00:00Z'));
    expect(extendExpiry(at('2026-05-10T00:00:00Z'), 1, now)).toEqual(at('2026-07-01T00:00:00Z'));
    expect(extendExpiry(null, 1, now)).toEqual(at('2026-07-01T00:00:00Z'));
  });

  it('is past due for seven days after its end, then expired', () => {
    const subscription = { expiresAt: at('2026-06-01T00:00:00Z'), orderIds: [1] } as unknown as Subscription;
    const status = (now: string): string => subscriptionStatus(subscription, at(now));
    expect(status('2026-05-31T23:59:59Z')).toBe('active');
    expect(status('2026-06-01T00:00:00Z')).toBe('past_due');
    expect(status('2026-06-07T23:59:59Z')).toBe('past_due');
    expect(status('2026-06-08T00:00:00Z')).toBe('expired');
    expect(subscriptionStatus({ ...subscription, orderIds: [] }, at('2026-06-02T00:00:00Z'))).toBe('canceled');
  });
});

describe('return URL of the portal', () => {
  const config = {
    PUBLIC_BASE_URL: 'https://fleet.example',
    BILLING_RETURN_URLS: 'fleetapp://billing, https://app.example/a',
  };

  it.each(['fleetapp://billing/done', 'https://app.example/a/b', 'https://fleet.example/x'])('allows %s', (url) => {
    expect(checkReturnUrl(config, url)).toBe(url);
  });

  it.each([
    'javascript:/alert(1)',
    'otherapp://billing/done',
    'fleetapp://other/done',
    'data:/x',
    'http://app.example/a',
  ])('rejects %s', (url) => {
    expect(() => checkReturnUrl(config, url)).toThrow(/return_url/);
  });
});
