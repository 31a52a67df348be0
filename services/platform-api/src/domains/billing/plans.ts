import { readFileSync } from 'node:fs';
import { AppError, ConfigError, compileBody, validationError } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import type { LineItem } from './schema.ts';

const percentSchema = Type.Integer({ minimum: 1, maximum: 99 });

/** A plan file: prices in minor units per vehicle and month. */
const planFile = Type.Object({
  currency: Type.String({ pattern: '^[A-Z]{3}$' }),
  plans: Type.Array(
    Type.Object({
      key: Type.String({ pattern: '^[a-z0-9_-]{1,60}$' }),
      name: Type.String({ minLength: 1 }),
      description: Type.Optional(Type.String()),
      monthly_prices: Type.Record(Type.String({ pattern: '^[A-Z]{3}$' }), Type.Integer({ minimum: 1, maximum: 1e8 }), {
        minProperties: 1,
      }),
    }),
    { minItems: 1 },
  ),
  month_discounts_percent: Type.Record(Type.String(), percentSchema, { default: {} }),
  coupons: Type.Array(
    Type.Object({
      code: Type.String({ minLength: 1, maxLength: 60 }),
      percent_off: percentSchema,
      /** Plans for which the coupon is valid; all if absent. */
      plans: Type.Optional(Type.Array(Type.String())),
      /** The last valid day, in UTC. */
      valid_until: Type.Optional(Type.String({ format: 'date' })),
    }),
    { default: [] },
  ),
});
export type PlanFile = Static<typeof planFile>;

const check = compileBody(planFile);
const example = new URL('../../../data/plans.json', import.meta.url);

/** Reads the plan file. Throws a ConfigError for an invalid file, which prevents the service from starting. */
export function readPlans(path: string | undefined): PlanFile {
  try {
    return check(JSON.parse(readFileSync(path ?? example, 'utf8'))) as PlanFile;
  } catch (cause) {
    throw new ConfigError(`PLANS_FILE cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** The items of a purchase. */
interface Purchase {
  readonly plan: string;
  readonly vehicles: number;
  readonly months: number;
  readonly coupon?: string | undefined;
  readonly currency?: string | undefined;
}

/** The price of a purchase. Each discount is a separate line item. */
interface Price {
  readonly amount: number;
  readonly currency: string;
  readonly lineItems: readonly LineItem[];
}

/**
 * Calculates the price of a purchase. Throws 400 for an unknown plan, currency or coupon. Discounts are rounded down,
 * in favour of the seller.
 */
export function calculatePrice(
  file: PlanFile,
  purchase: Purchase,
  today = new Date().toISOString().slice(0, 10),
): Price {
  const { months, vehicles } = purchase;
  const plan = file.plans.find(({ key }) => key === purchase.plan);
  if (plan === undefined) throw validationError([{ path: '/plan', message: 'is not the key of a plan' }]);
  const currency = purchase.currency ?? file.currency;
  const monthly = plan.monthly_prices[currency];
  if (monthly === undefined) throw validationError([{ path: '/currency', message: 'is not a currency of the plan' }]);
  const unit = monthly * months;
  const lines: LineItem[] = [
    {
      description: `${plan.name}, ${months === 1 ? '1 month' : `${months} months`}`,
      quantity: vehicles,
      unit_amount: unit,
      amount: unit * vehicles,
    },
  ];
  const monthDiscount = file.month_discounts_percent[String(months)];
  if (monthDiscount !== undefined)
    lines.push(applyDiscount(`${monthDiscount} % for ${months} months`, lines, monthDiscount));
  if (purchase.coupon !== undefined) {
    const { code, percent_off: off } = findCoupon(file, purchase.coupon, plan.key, today);
    lines.push(applyDiscount(`Coupon ${code}, ${off} %`, lines, off));
  }
  const amount = sumLines(lines);
  if (amount > 99_999_999)
    throw new AppError('validation_failed', 'The order is too large. Split it into several orders.');
  return { amount, currency, lineItems: lines };
}

const sumLines = (lines: readonly LineItem[]): number => lines.reduce((total, { amount }) => total + amount, 0);

function applyDiscount(description: string, lines: readonly LineItem[], percentOff: number): LineItem {
  const off = -Math.floor((sumLines(lines) * percentOff) / 100);
  return { description, quantity: 1, unit_amount: off, amount: off };
}

function findCoupon(file: PlanFile, code: string, plan: string, today: string): PlanFile['coupons'][number] {
  const coupon = file.coupons.find((one) => one.code.toUpperCase() === code.trim().toUpperCase());
  const isValid =
    coupon !== undefined &&
    (coupon.plans === undefined || coupon.plans.includes(plan)) &&
    (coupon.valid_until === undefined || coupon.valid_until >= today);
  if (isValid) return coupon;
  throw validationError([{ path: '/coupon', message: 'is not valid for this order' }]);
}
